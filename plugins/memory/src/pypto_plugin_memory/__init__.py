"""Memory references, lifetimes and addresses."""
