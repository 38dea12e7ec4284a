//! The password: argon2id (RFC 9106), in one file that root alone can read.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use argon2::password_hash::phc::PasswordHash;
use argon2::{Algorithm, Argon2, Params, PasswordHasher, PasswordVerifier, Version};

use crate::WebError;
use crate::secret::{self, FileStamp, SecretError};
use crate::settings::{DEFAULT_PASSWORD_FILE, FORMER_PASSWORD_FILE};

/// Characters that a password must have (NIST SP 800-63B section 5.1.1.2).
pub const SHORTEST: usize = 8;

/// Bytes that a password may have.
pub const LONGEST: usize = 1024;

/// Cost of one try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Memory, KiB.
    pub memory: u32,
    /// Passes over the memory.
    pub passes: u32,
}

impl Default for Cost {
    /// 12 MiB and 3 passes: as hard to guess as the usual 19 MiB and 2 passes (OWASP counts them as
    /// equal), and a router of 128 MB can spare it. One try is made at a time.
    fn default() -> Self {
        Self {
            memory: 12 * 1024,
            passes: 3,
        }
    }
}

/// Most expensive hash that is tried: a file must not exhaust the router's memory.
const DEAREST: Cost = Cost {
    memory: 64 * 1024,
    passes: 16,
};

/// Reason why a password is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Weakness {
    /// Too short to resist guessing.
    #[error("the password has fewer than {SHORTEST} characters")]
    Short,
    /// Longer than the limit.
    #[error("the password has more than {LONGEST} bytes")]
    Long,
    /// A single repeated character.
    #[error("the password repeats a single character")]
    Same,
    /// Among the first that an attacker would try.
    #[error("the password is easy to guess")]
    Guessable,
    /// Contains characters that cannot be typed in a browser.
    #[error("the password contains control characters")]
    Control,
}

/// Smallest accepted score of a password; the setup wizard uses the same.
pub const LEAST_SCORE: u8 = 2;

/// Strength of a password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Strength {
    /// Score from 0 (guessed at once) to 4 (practically never).
    pub score: u8,
    /// Weakness of the password, in a sentence.
    pub warning: Option<String>,
    /// Advice for a stronger password.
    pub suggestions: Vec<String>,
}

/// Estimates a password for an attacker who knows these words; `None` if this build lacks the
/// estimator.
#[cfg(feature = "strength")]
pub fn strength(password: &str, known: &[&str]) -> Option<Strength> {
    let known: Vec<&str> = KNOWN.iter().chain(known).copied().collect();
    // The estimate takes time quadratic in the length, and a hundred characters suffice.
    let head: String = password.chars().take(100).collect();
    let judged = zxcvbn::zxcvbn(&head, &known);
    let feedback = judged.feedback();
    Some(Strength {
        score: judged.score().into(),
        warning: feedback.and_then(|said| Some(said.warning()?.to_string())),
        suggestions: feedback
            .map(|said| said.suggestions().iter().map(ToString::to_string).collect())
            .unwrap_or_default(),
    })
}

/// Common words of routers.
#[cfg(feature = "strength")]
const KNOWN: [&str; 5] = ["weir", "openwrt", "router", "admin", "root"];

/// Returns `None`: this build lacks the estimator.
#[cfg(not(feature = "strength"))]
pub fn strength(_: &str, _: &[&str]) -> Option<Strength> {
    None
}

/// Checks that a password may be set. A long one needs no capitals and digits.
pub fn check(password: &str) -> Result<(), Weakness> {
    if password.len() > LONGEST {
        return Err(Weakness::Long);
    }
    if password.chars().count() < SHORTEST {
        return Err(Weakness::Short);
    }
    if password.chars().any(char::is_control) {
        return Err(Weakness::Control);
    }
    let mut characters = password.chars();
    let first = characters.next();
    if characters.all(|other| Some(other) == first) {
        return Err(Weakness::Same);
    }
    match strength(password, &[]) {
        Some(strength) if strength.score < LEAST_SCORE => Err(Weakness::Guessable),
        _ => Ok(()),
    }
}

/// Reason why a hash cannot be computed or verified.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct HashError(String);

/// Hashes a password with a fresh salt, as `$argon2id$v=19$m=…`. Takes a second of a slow
/// processor.
pub fn hash(password: &str, cost: Cost) -> Result<String, WebError> {
    let random = |error: &dyn std::fmt::Display| WebError::Random(error.to_string());
    let mut salt = [0; 16];
    getrandom::fill(&mut salt).map_err(|error| random(&error))?;
    let params = Params::new(cost.memory, cost.passes, 1, None).map_err(|error| random(&error))?;
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
        .hash_password_with_salt(password.as_bytes(), &salt)
        .map(|hash| hash.to_string())
        .map_err(|error| random(&error))
}

/// Returns true if the password matches. Takes as long as the hash's parameters say.
pub fn verify(password: &str, hash: &str) -> Result<bool, HashError> {
    let wrong = |why: String| HashError(format!("invalid password hash: {why}"));
    let hash = PasswordHash::new(hash.trim()).map_err(|error| wrong(error.to_string()))?;
    if hash.algorithm.as_str() != "argon2id" || hash.hash.is_none() || hash.salt.is_none() {
        return Err(wrong("not an argon2id hash".to_owned()));
    }
    let params = Params::try_from(&hash).map_err(|error| wrong(error.to_string()))?;
    if params.m_cost() > DEAREST.memory || params.t_cost() > DEAREST.passes || params.p_cost() > 4 {
        return Err(wrong(format!(
            "needs {} KiB and {} passes; the limits are {} KiB and {} passes",
            params.m_cost(),
            params.t_cost(),
            DEAREST.memory,
            DEAREST.passes
        )));
    }
    match Argon2::from(params).verify_password(password.as_bytes(), &hash) {
        Ok(()) => Ok(true),
        Err(argon2::password_hash::Error::PasswordInvalid) => Ok(false),
        Err(error) => Err(wrong(error.to_string())),
    }
}

/// Returns the hash in a file, and the state of the file; `None` if no password is set.
pub fn read(file: &Path) -> Result<Option<(String, FileStamp)>, SecretError> {
    secret::read(file)
}

/// Moves the password of an earlier version, and the key of known devices, to the file's new path,
/// if that is the default path and has no password.
///
/// # Errors
/// The files cannot be moved.
pub fn move_former(file: &Path) -> io::Result<()> {
    match file == Path::new(DEFAULT_PASSWORD_FILE) {
        true => move_from(Path::new(FORMER_PASSWORD_FILE), file),
        false => Ok(()),
    }
}

/// The password moves last: until then, an interrupted move is repeated.
fn move_from(former: &Path, file: &Path) -> io::Result<()> {
    let beside = |path: &Path, more: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(more);
        PathBuf::from(name)
    };
    for more in [".devices", ""] {
        let (from, to) = (beside(former, more), beside(file, more));
        if to.symlink_metadata().is_ok() || !from.is_file() {
            continue;
        }
        if let Some(folder) = to.parent() {
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(folder)?;
        }
        fs::rename(from, to)?;
    }
    Ok(())
}

/// Writes a hash to the file. A running daemon sees it with the next request, and ends all
/// sessions.
pub fn write(file: &Path, hash: &str) -> Result<(), SecretError> {
    secret::write(file, &format!("{hash}\n"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use testing::Directory;

    use super::*;

    const CHEAP: Cost = Cost {
        memory: 8,
        passes: 1,
    };

    #[test]
    fn only_the_password_fits() {
        let one = hash("correct horse", CHEAP).expect("hashed");
        assert!(one.starts_with("$argon2id$v=19$m=8,t=1,p=1$"), "{one}");
        assert_eq!(verify("correct horse", &one), Ok(true));
        assert_eq!(verify("correct horse ", &one), Ok(false));
        assert_eq!(verify("", &one), Ok(false));
        assert_eq!(
            verify("correct horse", &format!("{one}\n")),
            Ok(true),
            "as in the file"
        );
        assert_ne!(hash("correct horse", CHEAP).expect("hashed"), one, "salted");
    }

    #[test]
    fn the_usual_cost() {
        let one = hash("correct horse", Cost::default()).expect("hashed");
        assert!(one.starts_with("$argon2id$v=19$m=12288,t=3,p=1$"), "{one}");
        assert_eq!(verify("correct horse", &one), Ok(true));
    }

    #[test]
    fn hashes_of_others() {
        // Made by the reference implementation:
        // `echo -n password | argon2 somesalt -id -v 13 -t 2 -k 256 -p 1 -e`, with its test vector.
        let reference =
            "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4";
        assert_eq!(verify("password", reference), Ok(true));
        assert_eq!(verify("Password", reference), Ok(false));
    }

    #[test]
    fn what_is_no_hash_or_too_dear_is_refused() {
        let dear = "$argon2id$v=19$m=4194304,t=3,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4";
        for text in [
            "",
            "x",
            "$argon2id$",
            "$5$rounds=1000$x$y",
            "$argon2i$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4",
            "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ",
            dear,
            &dear.replace("m=4194304,t=3", "m=256,t=1000000"),
            &dear.replace("m=4194304,t=3,p=1", "m=60000,t=3,p=1000"),
        ] {
            assert!(verify("password", text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_former_password_goes_to_its_new_place_once() {
        let base = Directory::new();
        let (former, file) = (base.join("password"), base.join("page/password"));
        move_from(&former, &file).expect("nothing is to be moved");
        assert!(!base.join("page").exists());
        write(&former, "one").expect("written");
        secret::write(&base.join("password.devices"), "key\n").expect("written");
        move_from(&former, &file).expect("moved");
        let text = |file: &Path| read(file).expect("a secret").map(|(text, _)| text);
        assert_eq!(text(&file).as_deref(), Some("one\n"));
        let devices = base.join("page/password.devices");
        assert_eq!(text(&devices).as_deref(), Some("key\n"));
        assert_eq!(text(&former), None);
        // A second file at the former path, as from an old copy, replaces nothing.
        write(&former, "two").expect("written");
        move_from(&former, &file).expect("nothing is to be moved");
        assert_eq!(text(&file).as_deref(), Some("one\n"));
    }

    #[test]
    fn weak_ones() {
        for (password, weakness) in [
            ("", Some(Weakness::Short)),
            ("7 chars", Some(Weakness::Short)),
            ("ääääää", Some(Weakness::Short)),
            ("aaaaaaaa", Some(Weakness::Same)),
            ("12345678\n", Some(Weakness::Control)),
            #[cfg(feature = "strength")]
            ("12345678", Some(Weakness::Guessable)),
            #[cfg(feature = "strength")]
            ("password", Some(Weakness::Guessable)),
            #[cfg(feature = "strength")]
            ("weirweir", Some(Weakness::Guessable)),
            ("8 charac", None),
            ("größeräü", None),
            ("correct horse battery staple", None),
        ] {
            assert_eq!(check(password).err(), weakness, "{password}");
        }
        assert_eq!(check(&"ab".repeat(513)), Err(Weakness::Long));
    }

    proptest! {
        #[test]
        fn never_panics(text in "\\PC*", parameters in "[a-z0-9=,]{0,30}") {
            let _ = verify("x", &text);
            let _ = verify("x", &format!("$argon2id$v=19${parameters}$c29tZXNhbHQ$nf65EOgL"));
            let _ = check(&text);
        }
    }
}
