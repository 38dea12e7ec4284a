//! Compiles bpf/weir.bpf.c, generates the skeleton that loads it, and turns bpf/include/reason.h into a Rust enum: the C headers
//! are the only definition of what both sides share.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use libbpf_cargo::SkeletonBuilder;

fn main() {
    let bpf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bpf");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));

    let mut args = vec!["-mcpu=v3".to_string(), "-Wall".into(), "-Werror".into()];
    // Debian and Ubuntu keep asm/ in a folder named after the machine.
    let multiarch = format!("/usr/include/{}-linux-gnu", std::env::consts::ARCH);
    if Path::new(&multiarch).exists() {
        args.push(format!("-idirafter{multiarch}"));
    }
    compile(&bpf, &out, "weir", &args);
    compile(&bpf, &out, "drops", &args);
    compile(&bpf, &out, "meter", &args);
    compile(&bpf, &out, "probes", &args);
    if env::var_os("CARGO_FEATURE_BENCH").is_some() {
        compile(&bpf, &out, "bench", &args);
        compile(&bpf, &out, "meter_bench", &args);
    }

    let reasons = fs::read_to_string(bpf.join("include/reason.h")).expect("bpf/include/reason.h");
    fs::write(out.join("reason.rs"), reason_enum(&reasons)).expect("write reason.rs");
    println!("cargo:rerun-if-changed={}", bpf.display());
}

/// bpf/NAME.bpf.c becomes NAME.skel.rs.
fn compile(bpf: &Path, out: &Path, name: &str, args: &[String]) {
    SkeletonBuilder::new()
        .source(bpf.join(format!("{name}.bpf.c")))
        .obj(out.join(format!("{name}.bpf.o")))
        .clang_args(args)
        .reference_obj(true)
        .build_and_generate(out.join(format!("{name}.skel.rs")))
        .unwrap_or_else(|error| {
            panic!("cannot compile bpf/{name}.bpf.c (is clang installed? `scripts/setup` sees to it): {error:?}")
        });
}

/// One variant for each `REASON_X, /* text */` line.
fn reason_enum(header: &str) -> String {
    let mut variants = String::new();
    let mut codes = String::new();
    let mut texts = String::new();
    let mut all = String::new();
    let mut number = 0;
    for line in header.lines() {
        let Some(rest) = line.trim().strip_prefix("REASON_") else {
            continue;
        };
        let name = rest
            .split(|c: char| !c.is_ascii_uppercase() && c != '_')
            .next()
            .unwrap_or_default();
        if name == "COUNT" {
            break;
        }
        let text = rest
            .split("/*")
            .nth(1)
            .and_then(|t| t.split("*/").next())
            .expect("every reason has a comment")
            .trim();
        let variant: String = name
            .split('_')
            .map(|w| w[..1].to_string() + &w[1..].to_lowercase())
            .collect();
        let code = name.to_lowercase();
        writeln!(variants, "    /// {text}\n    {variant} = {number},").unwrap();
        writeln!(codes, "            Self::{variant} => {code:?},").unwrap();
        writeln!(texts, "            Self::{variant} => {text:?},").unwrap();
        write!(all, "Reason::{variant}, ").unwrap();
        number += 1;
    }
    format!(
        "/// Why a packet went to the kernel, or a flow was not proven (generated from bpf/include/reason.h).\n\
         #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]\n#[repr(u8)]\npub enum Reason {{\n{variants}}}\n\n\
         impl Reason {{\n    /// Every reason, by number.\n    pub const ALL: [Reason; {number}] = [{all}];\n\n    \
         /// A short name, for JSON.\n    pub fn code(self) -> &'static str {{\n        match self {{\n{codes}        }}\n    }}\n\n    \
         /// One phrase in plain words.\n    pub fn text(self) -> &'static str {{\n        match self {{\n{texts}        }}\n    }}\n}}\n"
    )
}
