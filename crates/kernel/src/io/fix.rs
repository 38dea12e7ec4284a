//! Remedies if the kernel or a driver refuses a request about a radio.

use nix::errno::Errno;

use super::RequestError;

impl RequestError {
    /// Returns a sentence: the radio's device, the request, the refusal, and the remedy.
    pub fn of_radio(&self, device: &str) -> String {
        let fix = match self {
            Self::Refused { request, errno } => fix(request, *errno),
            _ => AGAIN,
        };
        format!("{device}: {self}; {fix}")
    }
}

const AGAIN: &str = "weir tries again";

fn fix(request: &str, errno: Errno) -> &'static str {
    let has = |word| request.contains(word);
    match errno {
        Errno::EPERM | Errno::EACCES => "weir needs CAP_NET_ADMIN",
        Errno::EEXIST if has("INTERFACE") || has("NEWLINK") => {
            "another device has that name: `ip link delete` it, or rename it"
        }
        Errno::ENFILE | Errno::ENOSPC => {
            "the radio has no room for another device: see the interface combinations in `iw phy`"
        }
        Errno::EOPNOTSUPP if has("NEW_INTERFACE") => {
            "its driver does not support such devices (AP/VLAN and monitor in `iw phy`): use \
             another radio"
        }
        Errno::EOPNOTSUPP | Errno::EINVAL if has("KEY") => {
            "its driver does not accept a CCMP key for a single station: use another radio"
        }
        Errno::EOPNOTSUPP if has("HARDIF") => {
            "this batman-adv does not accept a throughput: use a newer version, or BATMAN_IV as \
             its algorithm"
        }
        Errno::EOPNOTSUPP if has("tag") => "a module is missing: run `modprobe 8021q`",
        Errno::EOPNOTSUPP | Errno::EINVAL if has("STATION") || has("VLAN") => {
            "its driver accepts stations from hostapd only: use another radio"
        }
        _ => AGAIN,
    }
}

#[cfg(test)]
mod tests {
    use super::super::batadv::THROUGHPUT;
    use super::*;

    #[test]
    fn what_is_refused_is_told_with_the_device_and_what_to_do() {
        let of = |request, errno| RequestError::Refused { request, errno }.of_radio("peer-1");
        let device = "a peer's device (NEW_INTERFACE)";
        let cases = [
            (device, Errno::EOPNOTSUPP, "use another radio"),
            (device, Errno::EEXIST, "ip link delete"),
            (device, Errno::ENFILE, "no room"),
            ("a peer's key (NEW_KEY)", Errno::EINVAL, "CCMP"),
            ("a device with a tag (NEWLINK)", Errno::EOPNOTSUPP, "8021q"),
            (THROUGHPUT, Errno::EOPNOTSUPP, "BATMAN_IV"),
            (THROUGHPUT, Errno::ENODEV, "tries again"),
            ("a peer's place (STA_VLAN)", Errno::EINVAL, "hostapd"),
            ("a frame (FRAME)", Errno::EPERM, "CAP_NET_ADMIN"),
            ("a frame (FRAME)", Errno::EBUSY, "tries again"),
        ];
        for (request, errno, what) in cases {
            let text = of(request, errno);
            assert!(text.starts_with("peer-1: the kernel refused "), "{text}");
            assert!(text.contains(request) && text.contains(what), "{text}");
            assert!(text.contains(&errno.to_string()), "{text}");
        }
        let text = RequestError::NoAnswer { request: device }.of_radio("peer-1");
        assert!(
            text.contains("NEW_INTERFACE") && text.ends_with(AGAIN),
            "{text}"
        );
    }
}
