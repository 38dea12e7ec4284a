//! Compiles the C code of the classifier of ports for this processor, for fuzzing.

use std::path::Path;

fn main() {
    if std::env::var_os("CARGO_FEATURE_LIBFUZZER").is_none() {
        return;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (own, bpf) = (root.join("classifier"), root.join("../bpf/include"));
    // Same instrumentation as Rust in scripts/fuzz; without it libFuzzer would see no coverage.
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
