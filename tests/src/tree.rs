//! Figures of the source tree: lines per folder, circles of imports, types spread over files.
//!
//! Imports are paths that begin with `crate`, `self`, `super` or a module of the file. Each path is
//! followed, without compiling, to the defining file. Tests and files for tests alone are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The measured figures.
#[derive(Debug, Default)]
pub struct DependencyTree {
    /// Lines of Rust, tests included, by package folder.
    pub lines: BTreeMap<String, usize>,
    /// Circles of imports: files that import each other, by their paths.
    pub circles: Vec<Vec<String>>,
    /// Types with methods in more than one file: the type, and the files.
    pub spread: Vec<(String, Vec<String>)>,
    /// Files with a `#[path]`.
    pub paths: Vec<String>,
    /// Test programs.
    pub programs: Vec<String>,
    /// Methods of the interface of a module.
    pub methods: usize,
}

impl DependencyTree {
    /// Returns figures, values, bounds; bounds only fall (docs/decisions/bounds-of-the-tree.md).
    pub fn figures(&self) -> [(&'static str, usize, usize); 6] {
        [
            ("lines of Rust", self.lines.values().sum(), 362_850),
            ("circles of imports", self.circles.len(), 0),
            (
                "types with methods in more than one file",
                self.spread.len(),
                0,
            ),
            ("files with #[path]", self.paths.len(), 0),
            ("test programs", self.programs.len(), 19),
            ("methods of a module", self.methods, 10),
        ]
    }
}

/// Measures the tree below the repository's root.
///
/// # Panics
/// A file cannot be read.
pub fn measure(root: &Path) -> DependencyTree {
    let mut tree = DependencyTree::default();
    for folder in packages(root) {
        let name = name(root, &folder);
        let mut files = Vec::new();
        sources(&folder, &mut files);
        let mut texts = BTreeMap::new();
        for file in files {
            let text = fs::read_to_string(&file).expect("a source");
            *tree.lines.entry(name.clone()).or_default() += text.lines().count();
            if text
                .lines()
                .any(|line| line.trim_start().starts_with("#[path"))
            {
                tree.paths.push(self::name(root, &file));
            }
            texts.insert(file, text);
        }
        programs(root, &folder, &mut tree.programs);
        let own = Crate::of(&folder.join("src"), &texts);
        tree.circles.extend(own.circles(root));
        tree.spread.extend(own.spread(root));
    }
    let module = root.join("crates/runtime/src/daemon/module.rs");
    if let Ok(text) = fs::read_to_string(module) {
        let interface = text.split("pub trait Module {").nth(1).unwrap_or_default();
        let interface = interface.split("\n}\n").next().unwrap_or_default();
        tree.methods = interface
            .lines()
            .filter(|line| line.starts_with("    fn "))
            .count();
    }
    tree
}

fn name(root: &Path, path: &Path) -> String {
    path.strip_prefix(root)
        .unwrap_or(path)
        .display()
        .to_string()
}

/// Returns the folders with a manifest.
fn packages(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![root.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).expect("a folder").flatten() {
            let path = entry.path();
            let hidden = entry.file_name().to_string_lossy().starts_with('.');
            let skipped = ["target", "node_modules", "src"]
                .iter()
                .any(|name| path.ends_with(name));
            if path.is_dir() && !hidden && !skipped && path != root.join("web") {
                open.push(path);
            } else if path.ends_with("Cargo.toml") && folder != root {
                found.push(folder.clone());
            }
        }
    }
    found.sort();
    found
}

/// Collects the Rust sources of a package, without those of nested packages.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        match path.is_dir() {
            true if !path.join("Cargo.toml").exists() => sources(&path, found),
            false if path.extension().is_some_and(|end| end == "rs") => found.push(path),
            _ => {}
        }
    }
}

fn programs(root: &Path, folder: &Path, found: &mut Vec<String>) {
    let Ok(entries) = fs::read_dir(folder.join("tests")) else {
        return;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        let is_file = path.extension().is_some_and(|end| end == "rs");
        if is_file || path.join("main.rs").exists() {
            found.push(name(root, &path));
        }
    }
}

/// Modules of a crate by their paths from its root, with their files' contents outside of tests.
struct Crate {
    files: BTreeMap<Vec<String>, File>,
}

struct File {
    path: PathBuf,
    /// Source text without tests and comments.
    code: String,
    /// Names that the file defines.
    defined: BTreeSet<String>,
    /// Names that the file imports or re-exports, each with its path.
    used: BTreeMap<String, Vec<String>>,
    /// Modules whose names the file imports by a glob.
    globs: Vec<Vec<String>>,
    /// All paths in the file.
    named: BTreeSet<Vec<String>>,
}

impl Crate {
    fn of(src: &Path, texts: &BTreeMap<PathBuf, String>) -> Self {
        let mut files = BTreeMap::new();
        for (path, text) in texts.iter().filter(|(path, _)| path.starts_with(src)) {
            let below = path.strip_prefix(src).expect("below").with_extension("");
            let mut module: Vec<String> = below
                .iter()
                .map(|part| part.to_string_lossy().into_owned())
                .collect();
            let is_test = module
                .iter()
                .any(|part| part == "tests" || part.ends_with("_tests"));
            if module.first().is_some_and(|first| first == "bin") || is_test {
                continue;
            }
            if module.last().is_some_and(|last| last == "mod") || module == ["lib"] {
                module.pop();
            }
            files.insert(module, File::of(path, text));
        }
        let mut own = Self { files };
        own.name();
        own
    }

    /// Finds the paths of every file.
    fn name(&mut self) {
        let modules: BTreeSet<Vec<String>> = self.files.keys().cloned().collect();
        for (module, file) in &mut self.files {
            let code = std::mem::take(&mut file.code);
            let mut rest = String::new();
            for statement in statements(&code) {
                match statement {
                    Statement::Use(text) => {
                        for (path, alias) in leaves(text) {
                            let Some(path) = absolute(&path, module, &modules) else {
                                continue;
                            };
                            match alias.as_str() {
                                "*" => file.globs.push(path),
                                _ => {
                                    file.used.insert(alias, path);
                                }
                            }
                        }
                    }
                    Statement::Other(text) => rest.push_str(text),
                }
            }
            for path in inline(&rest) {
                let first = file.used.get(&path[0]);
                let path = match first {
                    Some(known) => [known, &path[1..]].concat(),
                    None => match absolute(&path, module, &modules) {
                        Some(path) => path,
                        None => continue,
                    },
                };
                file.named.insert(path);
            }
            let words: BTreeSet<&str> = rest
                .split(|c: char| !c.is_alphanumeric() && c != '_')
                .collect();
            let used = file
                .used
                .iter()
                .filter(|(alias, _)| words.contains(alias.as_str()));
            file.named
                .extend(used.map(|(_, path)| path.clone()).collect::<Vec<_>>());
            // Names that a glob import brings in.
            for glob in file.globs.clone() {
                for word in &words {
                    file.named
                        .insert([&glob[..], &[(*word).to_owned()]].concat());
                }
            }
        }
    }

    /// Returns the module whose file defines the target of a path.
    fn home(&self, path: &[String], depth: usize) -> Option<Vec<String>> {
        let longest = (0..=path.len())
            .rev()
            .find(|length| self.files.contains_key(&path[..*length]))?;
        let module = path[..longest].to_vec();
        let Some(item) = path.get(longest) else {
            return Some(module);
        };
        let file = &self.files[&module];
        if file.defined.contains(item) {
            return Some(module);
        }
        if depth > 8 {
            return None;
        }
        if let Some(other) = file.used.get(item) {
            return self.home(&[&other[..], &path[longest + 1..]].concat(), depth + 1);
        }
        let mut all = file.globs.iter();
        all.find_map(|glob| self.home(&[&glob[..], &path[longest..]].concat(), depth + 1))
    }

    fn circles(&self, root: &Path) -> Vec<Vec<String>> {
        let modules: Vec<&Vec<String>> = self.files.keys().collect();
        let place = |module: &Vec<String>| modules.iter().position(|known| *known == module);
        let arrows: Vec<BTreeSet<usize>> = modules
            .iter()
            .enumerate()
            .map(|(own, module)| {
                let named = self.files[*module].named.iter();
                let homes = named.filter_map(|path| {
                    // A module in the middle of a path is not an import.
                    let home = self.home(path, 0)?;
                    (home != *path).then_some(home)
                });
                homes
                    .filter_map(|home| place(&home))
                    .filter(|to| *to != own)
                    .collect()
            })
            .collect();
        let reach = |from: usize| {
            let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
            while let Some(at) = open.pop() {
                open.extend(arrows[at].iter().filter(|to| seen.insert(**to)));
            }
            seen
        };
        let reached: Vec<BTreeSet<usize>> = (0..modules.len()).map(reach).collect();
        let mut done = BTreeSet::new();
        let mut all = Vec::new();
        for own in 0..modules.len() {
            let circle: Vec<usize> = (0..modules.len())
                .filter(|other| {
                    *other != own && reached[own].contains(other) && reached[*other].contains(&own)
                })
                .collect();
            if circle.is_empty() || !done.insert(own) {
                continue;
            }
            done.extend(&circle);
            let mut names: Vec<String> = [own]
                .iter()
                .chain(&circle)
                .map(|at| name(root, &self.files[modules[*at]].path))
                .collect();
            names.sort();
            all.push(names);
        }
        all
    }

    fn spread(&self, root: &Path) -> Vec<(String, Vec<String>)> {
        let mut all: BTreeMap<(Vec<String>, String), BTreeSet<String>> = BTreeMap::new();
        for file in self.files.values() {
            for line in file.path_lines() {
                let Some(rest) = line.strip_prefix("impl") else {
                    continue;
                };
                let rest = match rest.strip_prefix('<') {
                    Some(generic) => generic.split_once("> ").map_or("", |(_, rest)| rest),
                    None => rest.trim_start(),
                };
                if line.contains(" for ") || rest.is_empty() {
                    continue;
                }
                let name: String = rest
                    .chars()
                    .take_while(|c| c.is_alphanumeric() || *c == '_')
                    .collect();
                let home = match file.defined.contains(&name) {
                    true => vec![self::name(root, &file.path)],
                    false => file
                        .used
                        .get(&name)
                        .and_then(|path| self.home(path, 0))
                        .unwrap_or_default(),
                };
                let home = match self.files.get(&home) {
                    Some(file) => vec![self::name(root, &file.path)],
                    None => home,
                };
                all.entry((home, name))
                    .or_default()
                    .insert(self::name(root, &file.path));
            }
        }
        let many = all.into_iter().filter(|(_, files)| files.len() > 1);
        many.map(|((_, name), files)| (name, files.into_iter().collect()))
            .collect()
    }
}

impl File {
    fn of(path: &Path, text: &str) -> Self {
        let text = text
            .split("#[cfg(test)]\nmod tests")
            .next()
            .unwrap_or_default();
        let lines = text
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"));
        let code: String = lines.flat_map(|line| [line, "\n"]).collect();
        let mut defined = BTreeSet::new();
        for line in code.lines().filter(|line| !line.starts_with(' ')) {
            let words: Vec<&str> = line
                .split(|c: char| !c.is_alphanumeric() && c != '_' && c != '!')
                .filter(|word| !word.is_empty())
                .collect();
            for pair in words.windows(2) {
                let kinds = [
                    "fn",
                    "struct",
                    "enum",
                    "trait",
                    "type",
                    "const",
                    "static",
                    "union",
                    "macro_rules!",
                    "table!",
                ];
                if kinds.contains(&pair[0]) {
                    defined.insert(pair[1].to_owned());
                    break;
                }
            }
        }
        Self {
            path: path.to_owned(),
            code,
            defined,
            used: BTreeMap::new(),
            globs: Vec::new(),
            named: BTreeSet::new(),
        }
    }

    fn path_lines(&self) -> Vec<String> {
        let text = fs::read_to_string(&self.path).expect("a source");
        let text = text
            .split("#[cfg(test)]\nmod tests")
            .next()
            .unwrap_or_default()
            .to_owned();
        text.lines().map(str::to_owned).collect()
    }
}

enum Statement<'a> {
    Use(&'a str),
    Other(&'a str),
}

/// Splits code into `use` statements and all others.
fn statements(code: &str) -> Vec<Statement<'_>> {
    let mut all = Vec::new();
    let mut rest = code;
    while !rest.is_empty() {
        let line = rest.split_inclusive('\n').next().unwrap_or(rest);
        let words = line.trim_start();
        let words = words.strip_prefix("pub").map_or(words, |after| {
            after
                .trim_start_matches(|c| c != ' ' && c != '\n')
                .trim_start()
        });
        if words.starts_with("use ") {
            let end = rest.find(';').map_or(rest.len(), |at| at + 1);
            all.push(Statement::Use(&rest[..end]));
            rest = &rest[end..];
        } else {
            all.push(Statement::Other(line));
            rest = &rest[line.len()..];
        }
    }
    all
}

/// Returns the paths of a `use`, each with its name in the file.
fn leaves(text: &str) -> Vec<(Vec<String>, String)> {
    fn take(before: &[String], text: &str, all: &mut Vec<(Vec<String>, String)>) {
        let (mut depth, mut begin) = (0, 0);
        let mut parts = Vec::new();
        for (at, c) in text.char_indices() {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 0 => {
                    parts.push(&text[begin..at]);
                    begin = at + 1;
                }
                _ => {}
            }
        }
        parts.push(&text[begin..]);
        for part in parts
            .into_iter()
            .map(str::trim)
            .filter(|part| !part.is_empty())
        {
            let (path, group) = match part.split_once('{') {
                Some((path, group)) => (
                    path,
                    Some(
                        group
                            .trim_end_matches(|c: char| c.is_whitespace())
                            .trim_end_matches('}'),
                    ),
                ),
                None => (part, None),
            };
            let (path, alias) = path
                .split_once(" as ")
                .map_or((path, None), |(path, alias)| (path, Some(alias.trim())));
            let names = path
                .split("::")
                .map(str::trim)
                .filter(|name| !name.is_empty());
            let mut whole = before.to_vec();
            whole.extend(names.map(str::to_owned));
            match group {
                Some(group) => take(&whole, group, all),
                None => {
                    if whole.last().is_some_and(|last| last == "self") {
                        whole.pop();
                    }
                    let last = whole.last().cloned().unwrap_or_default();
                    let alias = alias.map_or(last.clone(), str::to_owned);
                    if last == "*" {
                        whole.pop();
                    }
                    all.push((whole, alias));
                }
            }
        }
    }
    let text = text.trim().trim_end_matches(';');
    let path = text.split_once("use ").map_or("", |(_, path)| path);
    let mut all = Vec::new();
    take(&[], path.trim_start_matches("::"), &mut all);
    all
}

/// Returns the paths with `::` in code.
fn inline(code: &str) -> Vec<Vec<String>> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let words = code
        .split(|c: char| !is_part(c))
        .filter(|word| word.contains("::"));
    words
        .map(|word| {
            word.split("::")
                .filter(|part| !part.is_empty())
                .map(str::to_owned)
                .collect::<Vec<_>>()
        })
        .filter(|path| path.len() > 1)
        .collect()
}

/// Returns a path from the crate's root; `None` if the path leaves the crate.
fn absolute(
    path: &[String],
    module: &[String],
    modules: &BTreeSet<Vec<String>>,
) -> Option<Vec<String>> {
    let mut at = module.to_vec();
    let mut rest = path;
    match rest.first()?.as_str() {
        "crate" => {
            at.clear();
            rest = &rest[1..];
        }
        "self" => rest = &rest[1..],
        "super" => {
            while rest.first().is_some_and(|first| first == "super") {
                at.pop();
                rest = &rest[1..];
            }
        }
        first => {
            let child = [&at[..], &[first.to_owned()]].concat();
            if !modules.contains(&child) {
                return None;
            }
        }
    }
    at.extend(rest.iter().cloned());
    Some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_keeps_its_bounds() {
        let tree = measure(&Path::new(env!("CARGO_MANIFEST_DIR")).join(".."));
        for (figure, value, bound) in tree.figures() {
            assert!(
                value <= bound,
                "{figure}: {value}, at most {bound}; see `make tree`"
            );
        }
        let found = [
            &tree.lines.contains_key("weir"),
            &(tree.methods > 5),
            &!tree.programs.is_empty(),
        ];
        assert_eq!(found, [&true; 3]);
    }

    /// A filter that names no module would leave its tests out, or let them run beside others.
    #[test]
    fn filters_name_modules_of_tests() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let read = |file: &str| fs::read_to_string(root.join(file)).expect("a file of the tree");
        let makefile = read("Makefile");
        let words = makefile.split_whitespace();
        let filters = words.filter_map(|word| word.strip_suffix("::"));
        let filters = filters.filter(|it| !it.starts_with("--") && !it.contains('$'));
        let about = read("tests/netns/about");
        let rows = about.lines().filter(|line| !line.starts_with('#'));
        let rows = rows.filter_map(|line| line.split(' ').next());
        let modules: Vec<_> = filters.chain(rows).collect();
        assert!(modules.len() > 50, "{modules:?}");
        for module in modules {
            let file = format!("{}.rs", module.replace("::", "/"));
            let folders = [
                "tests/netns",
                "crates/datapath/tests/datapath",
                "weir/tests/program",
            ];
            let is = folders.iter().any(|it| root.join(it).join(&file).is_file());
            assert!(is, "{module}: no module of tests");
        }
    }

    /// Finds circles through a re-export and a glob, but not through a module on the way.
    #[test]
    fn circles_are_found() {
        let text = |text: &str| text.to_owned();
        let texts = BTreeMap::from([
            (
                PathBuf::from("src/lib.rs"),
                text("mod a;\nmod b;\nmod c;\nmod d;\npub use b::B;\n"),
            ),
            (
                PathBuf::from("src/a.rs"),
                text("use crate::B;\npub struct A(B);\nimpl A {}\n"),
            ),
            (
                PathBuf::from("src/b.rs"),
                text("use super::a::*;\npub struct B(Option<Box<A>>);\n"),
            ),
            (
                PathBuf::from("src/c.rs"),
                text("pub fn c() { crate::d::inner::e(); }\n"),
            ),
            (
                PathBuf::from("src/d.rs"),
                text("pub mod inner;\nfn d() { crate::c::c(); }\n"),
            ),
            (
                PathBuf::from("src/d/inner.rs"),
                text("pub fn e() {}\n#[cfg(test)]\nmod tests {\n use crate::c::c;\n}\n"),
            ),
        ]);
        let own = Crate::of(Path::new("src"), &texts);
        assert_eq!(own.circles(Path::new("src")), [["a.rs", "b.rs"]]);
    }
}
