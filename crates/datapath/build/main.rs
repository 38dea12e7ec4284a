//! Compiles bpf/weir.bpf.c, generates the skeleton that loads it, and turns the headers' numbers
//! and bpf/include/reason.h into Rust: only the C headers define the shared layout.

mod constants;

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
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
    println!("cargo:rerun-if-env-changed=CLANG");
    let clang = env::var_os("CLANG").unwrap_or_else(|| OsString::from("clang"));
    println!("cargo:rustc-env=BPF_COMPILER={}", version(&clang));

    let mut names = vec!["weir", "drops", "meter", "probes", "cable"];
    if env::var_os("CARGO_FEATURE_BENCH").is_some() {
        names.extend(["bench", "meter_bench"]);
    }
    for name in names {
        compile(&clang, &bpf, &out, name, &args);
    }

    let reasons = fs::read_to_string(bpf.join("include/reason.h")).expect("bpf/include/reason.h");
    fs::write(out.join("reason.rs"), reason_enum(&reasons)).expect("write reason.rs");
    let headers = fs::read_dir(bpf.join("include")).expect("bpf/include");
    let headers = headers.map(|entry| entry.expect("a header").path());
    let headers: Vec<String> = headers
        .map(|file| fs::read_to_string(file).expect("a header"))
        .collect();
    let constants = constants::constants(&headers);
    fs::write(out.join("constants.rs"), constants).expect("write constants.rs");
    println!("cargo:rerun-if-changed={}", bpf.display());
}

/// `clang 14.0.6` of `Debian clang version 14.0.6`.
fn version(clang: &OsStr) -> String {
    let output = Command::new(clang)
        .arg("-dumpversion")
        .output()
        .unwrap_or_else(|error| {
            panic!(
                "cannot run {clang:?} ({error}): `scripts/setup` installs clang; CLANG names \
                another one"
            )
        });
    format!("clang {}", String::from_utf8_lossy(&output.stdout).trim())
}

/// Constructor in the generated loader, which `compile` replaces: see src/object.rs.
const OPENED: &str = "ObjectSkeletonConfigBuilder::new(&DATA)";

/// bpf/NAME.bpf.c becomes NAME.skel.rs.
fn compile(clang: &OsStr, bpf: &Path, out: &Path, name: &str, args: &[String]) {
    let skeleton = out.join(format!("{name}.skel.rs"));
    SkeletonBuilder::new()
        .source(bpf.join(format!("{name}.bpf.c")))
        .obj(out.join(format!("{name}.bpf.o")))
        .clang(clang)
        .clang_args(args)
        .reference_obj(true)
        .build_and_generate(&skeleton)
        .unwrap_or_else(|error| panic!("cannot compile bpf/{name}.bpf.c by {clang:?}: {error:?}"));
    let text = fs::read_to_string(&skeleton).expect("the loader just generated");
    assert_eq!(
        text.matches(OPENED).count(),
        1,
        "libbpf-cargo generates something else now"
    );
    let opened = OPENED.replace("&DATA", &format!("crate::object::chosen({name:?}, &DATA)?"));
    fs::write(&skeleton, text.replace(OPENED, &opened)).expect("write the loader");
}

/// Makes one variant for each `REASON_X,` with a comment behind it, or on the lines before it.
fn reason_enum(header: &str) -> String {
    let mut variants = String::new();
    let mut codes = String::new();
    let mut texts = String::new();
    let mut all = String::new();
    let mut number = 0;
    let mut before = String::new();
    for line in header.lines() {
        let Some(rest) = line.trim().strip_prefix("REASON_") else {
            let words = line.trim().trim_start_matches("/*");
            let words = words.trim_end_matches("*/").trim().trim_start_matches("* ");
            if line.trim().starts_with("/*") {
                before.clear();
            }
            before = format!("{before} {words}").trim().to_owned();
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
            .unwrap_or(&before)
            .trim();
        assert!(!text.is_empty(), "every reason has a comment");
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
        "/// Why a packet went to the kernel, or a flow was not proven (generated from \
            bpf/include/reason.h).\n\
         #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]\n#[repr(u8)]\npub \
         enum Reason {{\n{variants}}}\n\n\
         impl Reason {{\n    /// Every reason, by number.\n    pub const ALL: [Reason; {number}] \
         = [{all}];\n\n    \
         /// A short name, for JSON.\n    pub fn code(self) -> &'static str {{\n        match \
         self {{\n{codes}        }}\n    }}\n\n    \
         /// One phrase in plain words.\n    pub fn text(self) -> &'static str {{\n        match \
         self {{\n{texts}        }}\n    }}\n}}\n"
    )
}
