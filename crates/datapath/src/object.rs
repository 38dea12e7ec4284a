//! Selects the BPF objects that the build put into the program. A debug build can take objects of
//! another compiler from a directory instead, so that every test can run with the programs of each
//! compiler (`scripts/lint-bpf` makes such directories).

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Names the directory: NAME.bpf.o in it for each bpf/NAME.bpf.c, and the compiler's name in a file
/// `compiler`.
pub const DIRECTORY: &str = "WEIR_OBJECTS";

struct Other {
    directory: PathBuf,
    compiler: String,
}

fn other() -> Option<&'static Other> {
    static OTHER: OnceLock<Option<Other>> = OnceLock::new();
    if !cfg!(debug_assertions) {
        return None;
    }
    let find = || {
        let directory = PathBuf::from(std::env::var_os(DIRECTORY)?);
        let compiler = compiler_of(&directory);
        Some(Other {
            directory,
            compiler,
        })
    };
    OTHER.get_or_init(find).as_ref()
}

fn compiler_of(directory: &Path) -> String {
    std::fs::read_to_string(directory.join("compiler"))
        .map_or_else(|_| "an unknown compiler".into(), |text| text.trim().into())
}

/// The compiler of the programs that are loaded, `clang 14.0.6`.
pub fn compiler() -> &'static str {
    other().map_or(env!("BPF_COMPILER"), |other| &other.compiler)
}

/// The object to be loaded for bpf/NAME.bpf.c. The generated loaders ask here (see build.rs).
pub(crate) fn chosen(name: &str, built_in: &'static [u8]) -> libbpf_rs::Result<&'static [u8]> {
    let Some(other) = other() else {
        return Ok(built_in);
    };
    let file = other.directory.join(format!("{name}.bpf.o"));
    let octets = std::fs::read(&file).map_err(|error| {
        let text = format!("{DIRECTORY}: cannot read {}: {error}", file.display());
        std::io::Error::new(error.kind(), text)
    })?;
    // As long as those built in live: programs are loaded a few times in a process, in tests a few
    // hundred times.
    Ok(Vec::leak(octets))
}
