//! Single programs under BPF_PROG_TEST_RUN.
