//! The classifier of ports is C, for BPF: compiled for this processor it can be fuzzed.

use std::path::Path;

fn main() {
    if std::env::var_os("CARGO_FEATURE_LIBFUZZER").is_none() {
        return;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (own, bpf) = (root.join("classifier"), root.join("../bpf/include"));
    // As scripts/fuzz has Rust compiled; without libFuzzer's own counters nobody would be told.
    let coverage = "-fsanitize-coverage=inline-8bit-counters,pc-table,trace-cmp";
    cc::Build::new()
        .compiler("clang")
        .file(own.join("sort.c"))
        .include(&own)
        .include(&bpf)
        .flag(coverage)
        .flag("-fsanitize=undefined")
        .flag("-fsanitize-trap=undefined")
        .opt_level(1)
        .compile("classifier");
    println!("cargo:rerun-if-changed={}", own.display());
    println!("cargo:rerun-if-changed={}", bpf.display());
}
