//! The file of passwords, `/etc/shadow` (shadow(5)).

/// Returns the file with another hash for a user's password, and the day of the change. `None`: the
/// user does not exist, or the hash is invalid.
///
/// `day`: days since 1970.
pub fn with_password(text: &[u8], user: &str, hash: &str, day: u64) -> Option<Vec<u8>> {
    let plain = |c: u8| c.is_ascii_graphic() && c != b':';
    if hash.is_empty() || !hash.bytes().all(plain) {
        return None;
    }
    let mut found = false;
    let lines: Vec<Vec<u8>> = text
        .split(|&c| c == b'\n')
        .map(|line| {
            let mut fields: Vec<Vec<u8>> = line.split(|&c| c == b':').map(<[u8]>::to_vec).collect();
            if !found && fields.len() > 2 && fields[0] == user.as_bytes() {
                found = true;
                fields[1] = hash.as_bytes().to_vec();
                fields[2] = day.to_string().into_bytes();
            }
            fields.join(&b':')
        })
        .collect();
    found.then(|| lines.join(&b'\n'))
}

/// Returns the hash of a user's password: `None` if the password is empty, or locked.
pub fn password_of(text: &[u8], user: &str) -> Option<String> {
    text.split(|&c| c == b'\n').find_map(|line| {
        let mut fields = line.split(|&c| c == b':');
        let same = fields.next() == Some(user.as_bytes());
        let hash = String::from_utf8(fields.next()?.to_vec()).ok()?;
        (same && hash.starts_with('$')).then_some(hash)
    })
}

/// Returns true if a user logs in without a password.
pub fn is_empty(text: &[u8], user: &str) -> bool {
    text.split(|&c| c == b'\n').any(|line| {
        let mut fields = line.split(|&c| c == b':');
        fields.next() == Some(user.as_bytes()) && fields.next() == Some(b"")
    })
}

#[cfg(test)]
mod tests {
    use super::{is_empty, password_of, with_password};

    const FRESH: &[u8] = b"root:::0:99999:7:::\ndaemon:*:0:0:99999:7:::\nbroken\n";

    #[test]
    fn one_password_changes_and_nothing_else() {
        let text = with_password(FRESH, "root", "$6$salt$hash", 20_000).unwrap();
        assert_eq!(
            text,
            b"root:$6$salt$hash:20000:0:99999:7:::\ndaemon:*:0:0:99999:7:::\nbroken\n"
        );
        assert_eq!(password_of(&text, "root").as_deref(), Some("$6$salt$hash"));
        assert_eq!(password_of(FRESH, "root"), None);
        assert!(is_empty(FRESH, "root") && !is_empty(&text, "root"));
        assert!(!is_empty(FRESH, "daemon") && !is_empty(b"", "root"));
        assert_eq!(password_of(FRESH, "daemon"), None);
    }

    #[test]
    fn what_would_make_another_user_is_refused() {
        for hash in ["", "a:b", "$6$a\nroot2::0:0:::::", "$6$\u{fc}"] {
            assert_eq!(with_password(FRESH, "root", hash, 1), None, "{hash:?}");
        }
        assert_eq!(with_password(FRESH, "nobody", "$6$salt$hash", 1), None);
        assert_eq!(with_password(b"", "root", "$6$salt$hash", 1), None);
    }
}
