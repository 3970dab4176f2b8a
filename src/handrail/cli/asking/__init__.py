"""Asking the person at the terminal: an ask as a panel, the answers on offer, and what is answered without them."""
