//! Type information (BTF) of the running kernel, if there is any.

use std::collections::BTreeMap;

use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::{Enum, Typedef};

use crate::error::Error;

/// Path of the kernel's type information.
const VMLINUX: &str = "/sys/kernel/btf/vmlinux";

/// The kernel's type information: some megabytes, so it is dropped right after loading.
pub struct KernelTypes(Btf<'static>);

impl KernelTypes {
    /// Reads the kernel's types.
    ///
    /// # Errors
    /// [`Error::Lacks`]: the kernel has no types, as routers' kernels often lack them.
    pub fn read() -> Result<Self, Error> {
        if !std::path::Path::new(VMLINUX).exists() {
            return Err(Error::Lacks("BTF (CONFIG_DEBUG_INFO_BTF)".into()));
        }
        Btf::from_vmlinux()
            .map(Self)
            .map_err(|e| Error::bpf("describe its types", e))
    }

    /// Returns true if there is a tracepoint of this name, in any group. Tracepoints in modules are
    /// not found.
    pub fn has_tracepoint(&self, name: &str) -> bool {
        // TRACE_EVENT defines such a type for each tracepoint (include/trace/bpf_probe.h).
        let handler = format!("btf_trace_{name}");
        self.0.type_by_name::<Typedef<'_>>(&handler).is_some()
    }

    /// Returns true if there is an enumeration of this name.
    pub fn has_enumeration(&self, name: &str) -> bool {
        self.0.type_by_name::<Enum<'_>>(name).is_some()
    }

    /// Returns the names of an enumeration by number, without their common prefix. Returns an empty
    /// map if the enumeration does not exist.
    pub fn words(&self, name: &str, prefix: &str) -> BTreeMap<u32, String> {
        let Some(found) = self.0.type_by_name::<Enum<'_>>(name) else {
            return BTreeMap::new();
        };
        found
            .iter()
            .filter_map(|member| {
                let word = member.name?.to_str()?;
                let word = word.strip_prefix(prefix).unwrap_or(word);
                // 32 bits, signed or not.
                Some((member.value as u32, word.to_owned()))
            })
            .collect()
    }
}
