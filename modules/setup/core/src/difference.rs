//! Exact differences between two files of configuration.

use serde::{Deserialize, Serialize};
use uci::{Element, Package, Section, quoted};

/// A line of a difference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// True if the line is only in the new file; otherwise only in the old one.
    pub added: bool,
    /// Address of the option or section: `network.lan.proto`, `firewall.@rule[3]`.
    pub address: String,
    /// Value, or a section's type. Secrets are not shown.
    pub value: String,
    /// True if the value is an element of a list.
    pub list: bool,
}

impl std::fmt::Display for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (sign, equals) = (
            if self.added { '+' } else { '-' },
            if self.list { "+=" } else { "=" },
        );
        write!(f, "{sign} {}{equals}{}", self.address, self.value)
    }
}

/// Replacement of a secret.
const SECRET: &str = "(secret)";

/// Returns the differences, in the order of the new sections; removed sections come last.
///
/// A named section is compared with the one of its name. Among anonymous sections, those with equal
/// content match first; the others are compared in order, type by type.
pub fn difference(before: &Package, now: &Package) -> Vec<Line> {
    let pairs = pairs(before.sections(), now.sections());
    let mut lines = Vec::new();
    for (n, section) in now.sections().iter().enumerate() {
        let address = address(now, n);
        match pairs[n].map(|m| &before.sections()[m]) {
            Some(former) => {
                if former.kind != section.kind {
                    lines.push(line(false, &address, &former.kind));
                    lines.push(line(true, &address, &section.kind));
                }
                options(&mut lines, &address, Some(former), Some(section));
            }
            None => {
                lines.push(line(true, &address, &section.kind));
                options(&mut lines, &address, None, Some(section));
            }
        }
    }
    for (m, section) in before.sections().iter().enumerate() {
        if !pairs.contains(&Some(m)) {
            let address = address(before, m);
            lines.push(line(false, &address, &section.kind));
            options(&mut lines, &address, Some(section), None);
        }
    }
    lines
}

/// Returns the old index of each new section.
fn pairs(before: &[Section], now: &[Section]) -> Vec<Option<usize>> {
    let mut pairs: Vec<Option<usize>> = now
        .iter()
        .map(|section| {
            let same = |former: &Section| {
                !section.anonymous && !former.anonymous && former.name == section.name
            };
            before.iter().position(same)
        })
        .collect();
    let mut pair = |same: &dyn Fn(&Section, &Section) -> bool| {
        for n in 0..now.len() {
            if !now[n].anonymous || pairs[n].is_some() {
                continue;
            }
            let free = |m: &usize| before[*m].anonymous && !pairs.contains(&Some(*m));
            pairs[n] = (0..before.len())
                .filter(free)
                .find(|&m| same(&before[m], &now[n]));
        }
    };
    pair(&|former, section| former.kind == section.kind && says(former) == says(section));
    // Sections with one `name` option match, whatever else changed.
    pair(&|former, section| {
        let name = |section: &Section| {
            section
                .get("name")
                .and_then(Element::value)
                .map(<[u8]>::to_vec)
        };
        former.kind == section.kind && name(section).is_some() && name(former) == name(section)
    });
    pair(&|former, section| former.kind == section.kind);
    pairs
}

/// Returns all options of a section.
fn says(section: &Section) -> Vec<(&str, bool, Vec<&[u8]>)> {
    section
        .options
        .iter()
        .map(|element| {
            (
                element.name.as_str(),
                element.list,
                element.values().collect(),
            )
        })
        .collect()
}

/// Returns the address of a section: `network.lan`, `firewall.@rule[3]`.
pub(crate) fn address(package: &Package, n: usize) -> String {
    let section = &package.sections()[n];
    if section.anonymous {
        let number = package.sections()[..n]
            .iter()
            .filter(|other| other.kind == section.kind)
            .count();
        format!("{}.@{}[{number}]", package.name(), section.kind)
    } else {
        format!("{}.{}", package.name(), section.name)
    }
}

fn options(lines: &mut Vec<Line>, address: &str, before: Option<&Section>, now: Option<&Section>) {
    for element in now.iter().flat_map(|section| &section.options) {
        compare(
            lines,
            address,
            before.and_then(|section| section.get(&element.name)),
            Some(element),
        );
    }
    for element in before.iter().flat_map(|section| &section.options) {
        if now.is_none_or(|section| section.get(&element.name).is_none()) {
            compare(lines, address, Some(element), None);
        }
    }
}

fn compare(lines: &mut Vec<Line>, address: &str, before: Option<&Element>, now: Option<&Element>) {
    let values = |element: Option<&Element>| -> Vec<(bool, Vec<u8>)> {
        let element = element.into_iter();
        element
            .flat_map(|e| {
                e.values()
                    .map(|value| (e.list, value.to_vec()))
                    .collect::<Vec<_>>()
            })
            .collect()
    };
    let name = &before.or(now).expect("one of them").name;
    let (was, is) = (values(before), values(now));
    // Elements of a list that are in both, in this order, did not change.
    let common = common(&was, &is);
    let mut tell = |added: bool, list: &[(bool, Vec<u8>)], kept: &[usize]| {
        for (n, (list, value)) in list.iter().enumerate() {
            if !kept.contains(&n) {
                let value = if is_secret(name) {
                    SECRET.to_owned()
                } else {
                    text(value)
                };
                lines.push(Line {
                    added,
                    address: format!("{address}.{name}"),
                    value,
                    list: *list,
                });
            }
        }
    };
    let (in_was, in_is): (Vec<_>, Vec<_>) = common.into_iter().unzip();
    tell(false, &was, &in_was);
    tell(true, &is, &in_is);
}

/// Returns the longest common part of two lists, as indices in each.
fn common<T: PartialEq>(one: &[T], other: &[T]) -> Vec<(usize, usize)> {
    let width = other.len() + 1;
    let mut longest = vec![0_u32; (one.len() + 1) * width];
    for n in (0..one.len()).rev() {
        for m in (0..other.len()).rev() {
            longest[n * width + m] = if one[n] == other[m] {
                longest[(n + 1) * width + m + 1] + 1
            } else {
                longest[(n + 1) * width + m].max(longest[n * width + m + 1])
            };
        }
    }
    let (mut n, mut m, mut common) = (0, 0, Vec::new());
    while n < one.len() && m < other.len() {
        if one[n] == other[m] {
            common.push((n, m));
            (n, m) = (n + 1, m + 1);
        } else if longest[(n + 1) * width + m] >= longest[n * width + m + 1] {
            n += 1;
        } else {
            m += 1;
        }
    }
    common
}

/// Returns true if an option is secret: passwords, keys, PINs.
fn is_secret(option: &str) -> bool {
    let secret = [
        "password",
        "secret",
        "private_key",
        "preshared_key",
        "psk",
        "passphrase",
        "pincode",
    ];
    let key = option
        .strip_prefix("key")
        .is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit()));
    key || secret.iter().any(|word| option.contains(word))
}

fn line(added: bool, address: &str, kind: &str) -> Line {
    Line {
        added,
        address: address.to_owned(),
        value: kind.to_owned(),
        list: false,
    }
}

fn text(value: &[u8]) -> String {
    String::from_utf8_lossy(&quoted(value)).into_owned()
}

#[cfg(test)]
mod tests {
    use super::difference;
    use uci::Package;

    fn told(before: &str, now: &str) -> Vec<String> {
        let read = |text: &str| Package::read("t", text.as_bytes()).expect("a configuration");
        difference(&read(before), &read(now))
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn what_is_the_same_is_not_told() {
        let text = "config a 'lan'\n option x 1\n list y 1\nconfig b\n";
        assert!(told(text, text).is_empty());
        assert!(
            told(
                text,
                "# comment\nconfig b\nconfig a 'lan'\n list y '1'\n option x '1'\n"
            )
            .is_empty()
        );
    }

    #[test]
    fn options_lists_and_sections() {
        let before = "config a 'lan'\n option x 1\n option gone 1\n list y 1\n list y 2\nconfig b 'old'\n option z 1\n";
        let now = "config a 'lan'\n option x 2\n list y 2\n list y 3\n option key 'geheim'\nconfig c 'new'\n option z 1\n";
        let wanted = [
            "- t.lan.x='1'",
            "+ t.lan.x='2'",
            "- t.lan.y+='1'",
            "+ t.lan.y+='3'",
            "+ t.lan.key=(secret)",
            "- t.lan.gone='1'",
            "+ t.new=c",
            "+ t.new.z='1'",
            "- t.old=b",
            "- t.old.z='1'",
        ];
        assert_eq!(told(before, now), wanted);
    }

    #[test]
    fn sections_without_names_are_found_again() {
        let rule = |name: &str, port: &str| {
            format!("config rule\n option name '{name}'\n option port '{port}'\n")
        };
        let before = rule("one", "1") + &rule("two", "2") + &rule("three", "3");
        let now = rule("zero", "0") + &rule("three", "3") + &rule("one", "9");
        let wanted = [
            "+ t.@rule[0].name='zero'",
            "+ t.@rule[0].port='0'",
            "- t.@rule[2].port='1'",
            "+ t.@rule[2].port='9'",
        ];
        let told = told(&before, &now);
        let told: Vec<&str> = told
            .iter()
            .map(String::as_str)
            .filter(|line| !line.contains("two") && !line.contains("'2'"))
            .collect();
        assert_eq!(told, wanted);
    }

    #[test]
    fn secrets_are_not_told() {
        for option in [
            "key",
            "key1",
            "password",
            "private_key",
            "sae_password",
            "auth_secret",
        ] {
            assert_eq!(
                told(
                    "config a 'x'\n",
                    &format!("config a 'x'\n option {option} 'geheim'\n")
                ),
                [format!("+ t.x.{option}=(secret)")]
            );
        }
        assert_eq!(
            told("config a 'x'\n", "config a 'x'\n option keyboard 'de'\n"),
            ["+ t.x.keyboard='de'"]
        );
    }
}
