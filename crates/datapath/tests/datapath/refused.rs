//! Report about a program that the verifier refuses: the test loads the built-in object with one
//! program spoilt. Needs root.

use testing::Directory;
use weir_datapath::{Datapath, Error, Options, Sizes, object};

const BUILT_IN: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/weir.bpf.o"));

/// Returns the offset of the section of this name in an object of 64-bit ELF.
fn section(elf: &[u8], name: &str) -> usize {
    let word = |at: usize| u64::from_ne_bytes(elf[at..at + 8].try_into().expect("8")) as usize;
    let half = |at: usize| u16::from_ne_bytes(elf[at..at + 2].try_into().expect("2")) as usize;
    let header = |number: usize| word(40) + number * half(58); // e_shoff, e_shentsize
    let names = word(header(half(62)) + 24); // e_shstrndx, sh_offset
    let named = |number: &usize| {
        let at = header(*number);
        let text = u32::from_ne_bytes(elf[at..at + 4].try_into().expect("4")) as usize;
        elf[names + text..].starts_with(format!("{name}\0").as_bytes())
    };
    let number = (0..half(60)).find(named).expect("a section"); // e_shnum
    word(header(number) + 24)
}

#[test]
fn the_error_names_program_kernel_compiler_and_reason() {
    const APART: &str = "WEIR_TEST_REFUSED";
    if std::env::var_os(APART).is_some() {
        is_refused();
        return;
    }
    let directory = Directory::new();
    let mut object = BUILT_IN.to_vec();
    let weir_beat = section(&object, "syscall");
    // Ends at once, with a result that was never set.
    object[weir_beat..weir_beat + 8].copy_from_slice(&[0x95, 0, 0, 0, 0, 0, 0, 0]);
    let folder = directory.path();
    std::fs::write(folder.join("weir.bpf.o"), object).expect("the object");
    std::fs::write(folder.join("compiler"), "clang 99.1\n").expect("its compiler");
    testing::apart(
        "refused::the_error_names_program_kernel_compiler_and_reason",
        &[
            (APART, "".as_ref()),
            (object::DIRECTORY, folder.as_os_str()),
        ],
    );
}

/// In a process whose objects are those of the folder.
fn is_refused() {
    let Err(error) = Datapath::load(Sizes::new(4, 4, &[]), Options::default()) else {
        panic!("it loads");
    };
    let text = error.to_string();
    assert!(matches!(error, Error::Refused { .. }), "{text}");
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").expect("a kernel");
    for part in ["weir_beat", "clang 99.1", kernel.trim(), "CLANG=", "insn"] {
        assert!(text.contains(part), "no {part} in: {text}");
    }
    assert!(!text.contains("as root"), "{text}");
}
