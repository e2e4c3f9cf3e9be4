"""Small convolutional networks in compiled kernels; needs numba."""
