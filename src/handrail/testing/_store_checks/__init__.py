"""The checks of `run_store_conformance`, by what they are about."""
