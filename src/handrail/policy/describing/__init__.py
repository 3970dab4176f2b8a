"""Descriptions of asks: everything of them, with what is dangerous or hidden pointed out."""
