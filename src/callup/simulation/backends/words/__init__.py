"""Next-word prediction with stacked LSTM layers, in numpy and in torch."""
