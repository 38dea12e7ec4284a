//! Several packages in one text, as `uci export` writes them.

use crate::{
    error::{Error, Keyword, Reason, Syntax},
    package::{Package, Strictness},
    scan::Scanner,
};

/// Reads the output of `uci export`: packages, each behind a line `package NAME`. With a `name`,
/// all sections go to that package, and such lines are ignored.
///
/// # Errors
/// [`Error::Syntax`]; [`Error::Duplicate`] if a package occurs twice.
pub fn import(
    text: &[u8],
    name: Option<&str>,
    strictness: Strictness,
) -> Result<Vec<Package>, Error> {
    if let Some(name) = name {
        return Ok(vec![Package::read_as(name, text, strictness)?]);
    }
    let parts = parts(text);
    let mut packages: Vec<Package> = Vec::new();
    for (n, part) in parts.iter().enumerate() {
        let end = parts.get(n + 1).map_or(text.len(), |next| next.from);
        let slice = &text[part.from..end];
        if part.name.is_empty() {
            // Only comments may precede the first package.
            let before = Package::read_as("standard input", slice, strictness)?;
            if !before.sections().is_empty() {
                let reason = Reason::NoPackage;
                let found = String::new();
                return Err(Syntax {
                    file: "standard input".to_owned(),
                    line: 1,
                    byte: 0,
                    reason,
                    found,
                }
                .into());
            }
            continue;
        }
        if packages.iter().any(|known| known.name() == part.name) {
            return Err(Error::Duplicate(format!("package `{}`", part.name)));
        }
        let package = Package::read_as(&part.name, slice, strictness);
        packages.push(package.map_err(|error| match error {
            Error::Syntax(syntax) => Error::Syntax(Syntax {
                line: syntax.line + part.lines,
                ..syntax
            }),
            other => other,
        })?);
    }
    Ok(packages)
}

/// Start of a package.
struct Part {
    name: String,
    from: usize,
    /// Number of lines before the package.
    lines: usize,
}

fn parts(text: &[u8]) -> Vec<Part> {
    let mut parts = vec![Part {
        name: String::new(),
        from: 0,
        lines: 0,
    }];
    let mut scanner = Scanner::new(text, true);
    while let Some(from) = scanner.line() {
        // Only at the start of a line: exports have the statement nowhere else.
        if let Ok(Some(statement)) = scanner.statement()
            && statement.keyword == Keyword::Package
        {
            let name = statement
                .first
                .content
                .iter()
                .copied()
                .map(char::from)
                .collect();
            let lines = text[..from].iter().filter(|&&c| c == b'\n').count();
            parts.push(Part { name, from, lines });
        }
        while let Ok(Some(_)) = scanner.statement() {}
    }
    parts
}
