"""The parts of docs/performance.md that are not measured: how to read it, and what was tried."""

from __future__ import annotations

HEAD = """# How fast it is

Written by `python benchmarks/performance_page.py` from `benchmarks/results/*.json`, which `make bench` stores: one run,
everything after the other on one machine. Training is timed without evaluation: 10 of 100 clients a round, 5 local
epochs, mini-batches of 50, plain SGD. Every simulator has an environment and processes of its own, runs with one
thread and with two, and is shown with the better number. Medians.
"""

CHOICE = """## How a backend is chosen

By the model, not by a stopwatch: perceptrons and next-word models go to numpy, small convolutional networks to compiled
kernels where numba is installed, everything else to torch. Two backends differ in the last bits of a sum, so a choice
by time would give one seed two histories. `callup run --verbose` says which backend was chosen and why.

The setting `workers` spreads the clients of a round over cores; no result depends on it. By default a run that is alone
in its program uses every core where that is faster: threads from the start for compiled kernels and large next-word
models, and for the rest processes, which join after 2 seconds of training (10 where they import torch); until they are
ready the run goes on without them. Short runs never see them. `callup race` and `callup reproduce` spread whole runs
instead, each on one core. The workers of a race are forks of one process that has loaded the data, and these are in
memory once."""

TRIED = """## What was tried

- *Perceptron, threads.* numpy lets go of Python's lock during a product, but between products two threads wait for
  each other: groups of five clients on two threads took 25 to 29 ms a round where one thread took 35. Two processes
  took 20. Groups are the same for any number of workers, and so are the floats.
- *Perceptron, fewer products.* A client that goes five times over 300 samples of 784 numbers never moves its first
  weights: it keeps the inner products of its samples, which stay the same from round to round, and a number for each
  sample and unit. That is why a round can take less than its products would in the plain form.
- *Perceptron, fresh memory.* Arrays of a megabyte, made for each round and given back after it, came from the system
  page by page: 2,000 pages and a seventh of the round's processor time. Now each round uses the arrays of the last.
- *Perceptron, the way back.* Through a pipe, ten models took the program 7 ms a round to receive; laid down in shared
  memory they take 1.
- *Perceptron, size of groups.* Ten clients in one group took 37 ms, two groups of five 35, groups of two 43, each
  client alone 67: about 0.13 ms of Python for each group and step.
- *Convolutions.* torch's reach 16 GFLOP/s a core with so few channels; XLA's and torch's vmap are slower than a loop;
  torch.compile gained a tenth for 20 s of compiling. Kernels that keep a block of results in registers win.
- *Threads inside an operation* collapse when another process wants a core: a round of 3 s took 94. Every worker has
  one thread.
- *Next words, threads.* A small model, 64 units and 2,000 words, was no faster on two threads than on one, with small
  mini-batches slower: between products they wait for each other, as above. It stays on one.
- *Selection, Fed-CBS.* A draw among a million clients needs everyone's luck, which is a hash, but not everyone's
  weight: who has too little luck to win even with the highest weight is left out before any logarithm is taken.
- *Selection.* Where each of k places is filled by a look at everyone, a million clients take seconds: `balanced`,
  `astraea` and `fed-cucb` say so, take up to 100,000, and name their variant with a pool of candidates. NCCB trains a
  network on all rewards it remembers, which takes more than 10 ms after some hundred; `nccb:recent` does not."""
