//! A long TCP transfer through weir, and what must not, or must, cut it.
