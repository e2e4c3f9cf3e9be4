"""The command line: one command, one file. Heavy imports happen inside the commands, so that help is instant."""
