"""Where the journal is kept: the contract of a store, and the engines that fulfil it."""
