"""What can be learned in spite of protection: attacks, run on a federation one may test."""
