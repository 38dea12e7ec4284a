//! Certificate authority of this router's OpenVPN: clients need its certificates. Keys and
//! certificates are made only if they are missing or unusable.

use std::io;
use std::path::Path;

use setup_core::FileChange;
use setup_core::openvpn::{SERVER, is_static_key, mark_of, static_key};

use super::file::read;
use super::keys::random;
use runtime::Error;

/// The authority's certificate and key; the server's; the key that all clients have.
const CA: [&str; 2] = ["ca.crt", "ca.key"];
const OWN: [&str; 2] = ["server.crt", "server.key"];
const SHARED: &str = "tls-crypt.key";

/// A CA with its files.
pub struct CertificateAuthority {
    /// Certificate of the authority.
    pub certificate: String,
    key: String,
    /// The key that the server and all clients have.
    pub tls_crypt: String,
    /// Hash of all that the server has: it reveals nothing of the keys.
    pub mark: String,
    /// True if no client's present file works any more.
    pub is_new: bool,
    /// Files that are missing or unusable.
    pub files: Vec<FileChange>,
}

/// A certificate and its key, as PEM.
pub struct CertifiedKey {
    pub certificate: String,
    pub key: String,
}

impl CertificateAuthority {
    /// Reads the files of a folder, and makes missing ones. Nothing is written.
    pub fn open(folder: &Path) -> Result<Self, Error> {
        let mut files = Vec::new();
        let known = |name: &str| -> Result<Option<String>, Error> {
            let text = read(&folder.join(name))?;
            Ok(text.map(|text| String::from_utf8_lossy(&text).into_owned()))
        };
        let mut put = |name: &str, text: &str| -> Result<(), Error> {
            let path = folder.join(name);
            files.push(FileChange {
                before: read(&path)?,
                path,
                after: Some(text.into()),
            });
            Ok(())
        };
        let known_pair = (known(CA[0])?, known(CA[1])?);
        let ([certificate, key], another) = match known_pair {
            (Some(certificate), Some(key)) if x509::belong(&certificate, &key) => {
                ([certificate, key], false)
            }
            _ => {
                let made = x509::authority().map_err(failed)?;
                put(CA[0], &made.certificate)?;
                put(CA[1], &made.key)?;
                ([made.certificate, made.key], true)
            }
        };
        let server = match (known(OWN[0])?, known(OWN[1])?) {
            (Some(own), Some(secret))
                if !another && x509::belong(&own, &secret) && x509::is_by(&own, &key) =>
            {
                own
            }
            _ => {
                let made = certified(folder, &key, SERVER, x509::Purpose::Server)?;
                put(OWN[0], &made.certificate)?;
                put(OWN[1], &made.key)?;
                made.certificate
            }
        };
        // A reader of the old CA's key may have read this one, too.
        let shared = known(SHARED)?.filter(|text| !another && is_static_key(text));
        let is_new = another || shared.is_none();
        let tls_crypt = match shared {
            Some(text) => text,
            None => {
                let made = static_key(&random().map_err(failed)?);
                put(SHARED, &made)?;
                made
            }
        };
        Ok(Self {
            mark: mark_of(&[&*certificate, &*server, &*tls_crypt].concat()),
            certificate,
            key,
            tls_crypt,
            is_new,
            files,
        })
    }

    /// Makes a key for a client, and certifies it.
    pub fn client(&self, folder: &Path, common_name: &str) -> Result<CertifiedKey, Error> {
        certified(folder, &self.key, common_name, x509::Purpose::Client)
    }
}

fn failed(error: io::Error) -> Error {
    Error::with_cause("cannot create a certificate", &error, "try again")
}

fn certified(
    folder: &Path,
    authority: &str,
    common_name: &str,
    purpose: x509::Purpose,
) -> Result<CertifiedKey, Error> {
    x509::certify(authority, common_name, purpose).map_err(|error| {
        let what = format!("{} certifies nothing", folder.join(CA[1]).display());
        let hint = "remove it and ca.crt: another authority is then created, and each client needs \
                    a new file";
        Error::with_cause(what, &error, hint)
    })
}

#[cfg(feature = "openvpn")]
mod x509 {
    use std::io;

    use base64::Engine;
    use rcgen::{
        BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
        KeyPair, KeyUsagePurpose, PublicKeyData, date_time_ymd,
    };

    use super::CertifiedKey;

    /// Purpose of a certificate.
    pub enum Purpose {
        Server,
        Client,
    }

    /// Returns true if a key belongs to a certificate. Both are PEM; malformed ones never match.
    pub fn belong(certificate: &str, key: &str) -> bool {
        let pair = KeyPair::from_pem(key).ok();
        pair.is_some_and(|pair| holds(certificate, &pair.subject_public_key_info()))
    }

    /// Returns true if a certificate names this authority's key as its issuer.
    pub fn is_by(certificate: &str, authority: &str) -> bool {
        let pair = KeyPair::from_pem(authority).ok();
        pair.is_some_and(|pair| holds(certificate, &of_authority().key_identifier(&pair)))
    }

    /// Returns true if a certificate contains these bytes.
    fn holds(certificate: &str, octets: &[u8]) -> bool {
        let text = || {
            let (_, rest) = certificate.split_once("-----BEGIN CERTIFICATE-----")?;
            let (body, _) = rest.split_once("-----END CERTIFICATE-----")?;
            let body: String = body.split_whitespace().collect();
            base64::engine::general_purpose::STANDARD.decode(body).ok()
        };
        text().is_some_and(|text| text.windows(octets.len()).any(|part| part == octets))
    }

    fn wrong(error: rcgen::Error) -> io::Error {
        io::Error::other(error)
    }

    /// Returns parameters with a validity from 1970 on: a router without a clock starts in 1970,
    /// and must let its clients in nevertheless.
    fn params(common_name: &str) -> CertificateParams {
        let mut params = CertificateParams::default();
        params.distinguished_name.remove(DnType::CommonName);
        params
            .distinguished_name
            .push(DnType::CommonName, common_name);
        params.not_before = date_time_ymd(1970, 1, 1);
        params.not_after = date_time_ymd(2049, 12, 31);
        params.use_authority_key_identifier_extension = true;
        params
    }

    /// Parameters of every authority: they differ only in their keys.
    fn of_authority() -> CertificateParams {
        let mut params = params("weir-authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        params
    }

    pub fn authority() -> io::Result<CertifiedKey> {
        let pair = KeyPair::generate().map_err(wrong)?;
        let made = of_authority().self_signed(&pair).map_err(wrong)?;
        Ok(CertifiedKey {
            certificate: made.pem(),
            key: pair.serialize_pem(),
        })
    }

    /// Certifies a new key.
    pub fn certify(authority: &str, name: &str, purpose: Purpose) -> io::Result<CertifiedKey> {
        let issuer = KeyPair::from_pem(authority).map_err(wrong)?;
        let issuer = Issuer::new(of_authority(), issuer);
        let pair = KeyPair::generate().map_err(wrong)?;
        let mut params = params(name);
        params.is_ca = IsCa::ExplicitNoCa;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![match purpose {
            Purpose::Server => ExtendedKeyUsagePurpose::ServerAuth,
            Purpose::Client => ExtendedKeyUsagePurpose::ClientAuth,
        }];
        let made = params.signed_by(&pair, &issuer).map_err(wrong)?;
        Ok(CertifiedKey {
            certificate: made.pem(),
            key: pair.serialize_pem(),
        })
    }
}

/// Never called without the feature: the plan reports missing features.
#[cfg(not(feature = "openvpn"))]
mod x509 {
    use std::io;

    use super::CertifiedKey;

    pub enum Purpose {
        Server,
        Client,
    }

    pub fn belong(_: &str, _: &str) -> bool {
        false
    }

    pub fn is_by(_: &str, _: &str) -> bool {
        false
    }

    pub fn authority() -> io::Result<CertifiedKey> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub fn certify(_: &str, _: &str, _: Purpose) -> io::Result<CertifiedKey> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

#[cfg(all(test, feature = "openvpn"))]
mod tests {
    use std::path::Path;
    use std::process::Command;

    use testing::Directory;

    use super::CertificateAuthority;

    fn write(authority: &CertificateAuthority) {
        for file in &authority.files {
            std::fs::write(&file.path, file.after.as_ref().unwrap()).unwrap();
        }
    }

    fn verifies(folder: &Path, file: &str, purpose: &str, time: &str) -> bool {
        let done = Command::new("openssl")
            .args(["verify", "-x509_strict", "-attime", time])
            .args(["-purpose", purpose, "-CAfile"])
            .arg(folder.join("ca.crt"))
            .arg(folder.join(file))
            .output()
            .unwrap();
        done.status.success()
    }

    /// Verified by openssl, in the first minute of 1970 and in 2049.
    #[test]
    fn certificates_are_for_what_they_are_made_for() {
        let folder = Directory::new();
        let authority = CertificateAuthority::open(&folder).unwrap();
        write(&authority);
        let client = authority.client(&folder, "ana-0011").unwrap();
        std::fs::write(folder.join("client.crt"), &client.certificate).unwrap();
        for time in ["60", "2524521600", "2524000000"] {
            for (file, server, client) in [("server.crt", true, false), ("client.crt", false, true)]
            {
                let until = time != "2524521600";
                let verifies = |purpose| verifies(&folder, file, purpose, time);
                assert_eq!(verifies("sslserver"), server && until, "{file} at {time}");
                assert_eq!(verifies("sslclient"), client && until, "{file} at {time}");
            }
        }
        // A client cannot certify another one.
        let other = Directory::new();
        std::fs::write(other.join("ca.crt"), &client.certificate).unwrap();
        std::fs::write(other.join("ca.key"), &client.key).unwrap();
        let below = CertificateAuthority::open(&other).unwrap();
        let forged = below.client(&other, "forged-1").unwrap().certificate;
        std::fs::write(folder.join("forged.crt"), forged).unwrap();
        assert!(!verifies(&folder, "forged.crt", "sslclient", "60"));
    }

    #[test]
    fn what_is_there_stays() {
        let folder = Directory::new();
        let first = CertificateAuthority::open(&folder).unwrap();
        assert_eq!(first.files.len(), 5);
        write(&first);
        let second = CertificateAuthority::open(&folder).unwrap();
        assert!(second.files.is_empty());
        assert_eq!(second.certificate, first.certificate);
        // The server's alone: the authority stays, and so does who it certified.
        std::fs::remove_file(folder.join("server.key")).unwrap();
        let third = CertificateAuthority::open(&folder).unwrap();
        assert_eq!(third.files.len(), 2);
        assert_eq!(third.certificate, first.certificate);
        // Without its key the CA signs nothing: a new CA replaces it, with a server of its own.
        std::fs::remove_file(folder.join("ca.key")).unwrap();
        let fourth = CertificateAuthority::open(&folder).unwrap();
        assert_eq!(fourth.files.len(), 5);
        assert_ne!(fourth.certificate, first.certificate);
        assert_ne!(fourth.tls_crypt, first.tls_crypt);
        assert!(first.is_new && !second.is_new && !third.is_new && fourth.is_new);
        assert_eq!(first.mark, second.mark);
        assert!(first.mark != third.mark && third.mark != fourth.mark);
    }

    #[test]
    fn what_is_of_no_use_is_made_anew() {
        let folder = Directory::new();
        write(&CertificateAuthority::open(&folder).unwrap());
        let other = Directory::new();
        write(&CertificateAuthority::open(&other).unwrap());
        let stranger = |name: &str| std::fs::read_to_string(other.join(name)).unwrap();
        for (name, files, is_new) in [
            ("ca.crt", 5, true),
            ("ca.key", 5, true),
            ("server.crt", 2, false),
            ("server.key", 2, false),
            ("tls-crypt.key", 1, true),
        ] {
            let before = std::fs::read(folder.join(name)).unwrap();
            let half = String::from_utf8_lossy(&before[..before.len() / 2]).into_owned();
            for text in [String::new(), "nonsense".to_owned(), half, stranger(name)] {
                // Another valid shared key is accepted.
                if name == "tls-crypt.key" && text == stranger(name) {
                    continue;
                }
                std::fs::write(folder.join(name), &text).unwrap();
                let mended = CertificateAuthority::open(&folder).unwrap();
                assert_eq!(
                    (mended.files.len(), mended.is_new),
                    (files, is_new),
                    "{name}"
                );
            }
            std::fs::write(folder.join(name), before).unwrap();
            assert!(
                CertificateAuthority::open(&folder)
                    .unwrap()
                    .files
                    .is_empty(),
                "{name}"
            );
        }
        // A server of another authority, key and all.
        for name in ["server.crt", "server.key"] {
            std::fs::write(folder.join(name), stranger(name)).unwrap();
        }
        let mended = CertificateAuthority::open(&folder).unwrap();
        assert_eq!((mended.files.len(), mended.is_new), (2, false));
    }
}
