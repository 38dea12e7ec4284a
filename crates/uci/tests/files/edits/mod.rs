//! Random edits.

use proptest::prelude::*;
use weir_uci::Package;

/// An edit; sections are given by index.
#[derive(Clone, Debug)]
pub enum Edit {
    Set(usize, String, String),
    AddList(usize, String, String),
    DelList(usize, String, String),
    Element(usize, String, usize),
    Option(usize, String),
    Section(usize),
    Add(String),
    Named(String, String),
    Type(usize, String),
    Rename(usize, String),
    RenameOption(usize, String, String),
    Reorder(usize, usize),
}

pub fn edit() -> impl Strategy<Value = Edit> {
    let option = || "(x|y|z|li|new)".prop_map(String::from);
    let value = || {
        prop_oneof![
            "v[0-9]",
            "",
            "it's",
            "two words",
            "a#b;c",
            "\"q\"",
            "new\nline",
            "back\\\\slash"
        ]
    };
    let kind = || "(a|b|zone|we;ird|qu'ote)".prop_map(String::from);
    prop_oneof![
        4 => (0..5_usize, option(), value()).prop_map(|(n, o, v)| Edit::Set(n, o, v)),
        3 => (0..5_usize, option(), value()).prop_map(|(n, o, v)| Edit::AddList(n, o, v)),
        2 => (0..5_usize, option(), value()).prop_map(|(n, o, v)| Edit::DelList(n, o, v)),
        2 => (0..5_usize, option(), 0..3_usize).prop_map(|(n, o, k)| Edit::Element(n, o, k)),
        2 => (0..5_usize, option()).prop_map(|(n, o)| Edit::Option(n, o)),
        2 => (0..5_usize).prop_map(Edit::Section),
        2 => kind().prop_map(Edit::Add),
        1 => ("(lan|fresh)", kind()).prop_map(|(n, k)| Edit::Named(n, k)),
        1 => (0..5_usize, kind()).prop_map(|(n, k)| Edit::Type(n, k)),
        1 => (0..5_usize, "(lan|other)").prop_map(|(n, to)| Edit::Rename(n, to)),
        1 => (0..5_usize, option(), option()).prop_map(|(n, o, to)| Edit::RenameOption(n, o, to)),
        2 => (0..5_usize, 0..5_usize).prop_map(|(n, to)| Edit::Reorder(n, to)),
    ]
}

/// Applies an edit, if its target exists. A refused edit changes nothing.
pub fn play(package: &mut Package, edit: &Edit) {
    let name = |n: usize| {
        package
            .sections()
            .get(n)
            .map(|section| section.name.clone())
    };
    let before = package.text();
    let done = match edit {
        Edit::Set(n, option, value) => name(*n).map(|s| package.set(&s, option, value.as_bytes())),
        Edit::AddList(n, option, value) => {
            name(*n).map(|s| package.add_list(&s, option, value.as_bytes()))
        }
        Edit::DelList(n, option, value) => {
            name(*n).map(|s| package.del_list(&s, option, value.as_bytes()))
        }
        Edit::Element(n, option, k) => name(*n).map(|s| package.delete_element(&s, option, *k)),
        Edit::Option(n, option) => name(*n).map(|s| package.delete_option(&s, option)),
        Edit::Section(n) => name(*n).map(|s| package.delete_section(&s)),
        Edit::Add(kind) => Some(package.add(kind).map(|_| ())),
        Edit::Named(section, kind) => Some(package.set_section(section, kind)),
        Edit::Type(n, kind) => name(*n).map(|s| package.set_section(&s, kind)),
        Edit::Rename(n, to) => name(*n).map(|s| package.rename_section(&s, to)),
        Edit::RenameOption(n, option, to) => {
            name(*n).map(|s| package.rename_option(&s, option, to))
        }
        Edit::Reorder(n, to) => name(*n).map(|s| package.reorder(&s, *to)),
    };
    if matches!(done, Some(Err(_)) | None) {
        assert_eq!(package.text(), before, "what is refused changes nothing");
    }
}
