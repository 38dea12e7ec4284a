//! Prints figures of the source tree, and the items behind them: `make tree`.

use std::path::Path;

use weir_tests::tree;

fn main() {
    let tree = tree::measure(&Path::new(env!("CARGO_MANIFEST_DIR")).join(".."));
    let mut lines: Vec<_> = tree.lines.iter().collect();
    lines.sort_by(|a, b| b.1.cmp(a.1));
    for (folder, lines) in lines {
        println!("{lines:7}  {folder}");
    }
    println!("\ncircles of imports:");
    for circle in &tree.circles {
        println!("  {}", circle.join(" "));
    }
    println!("\ntypes with methods in more than one file:");
    for (name, files) in &tree.spread {
        println!("  {name}: {}", files.join(" "));
    }
    println!("\nfiles with #[path]:");
    for file in &tree.paths {
        println!("  {file}");
    }
    println!();
    for (figure, value, bound) in tree.figures() {
        println!("{value:7}  {figure} (at most {bound})");
    }
}
