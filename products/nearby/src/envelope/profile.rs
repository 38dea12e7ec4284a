//! Signed profiles in a neighbour's routing information (`qaul.net.router_net_info`).

use ring::signature::{ED25519, UnparsedPublicKey};

use super::node::Node;
use super::wire::{Signed, decoded};

/// Longest name that is accepted, in bytes.
const LONGEST: usize = 128;
/// Module number of answers about users in the routing information.
const USERS: i32 = 4;

/// Name of a node, signed by that node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Node of the profile.
    pub node: Node,
    /// Name that the node chose. Other nodes may have the same name.
    pub name: String,
    /// Version of the profile: the highest is the newest.
    pub version: u64,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Told {
    #[prost(int32, tag = "2")]
    module: i32,
    #[prost(bytes = "vec", tag = "3")]
    content: Vec<u8>,
}

/// Field 1 has unsigned names, which are ignored.
#[derive(Clone, PartialEq, prost::Message)]
struct Users {
    #[prost(message, repeated, tag = "2")]
    profiles: Vec<SignedProfile>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct SignedProfile {
    #[prost(bytes = "vec", tag = "1")]
    profile: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    signature: Vec<u8>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct UserProfile {
    #[prost(bytes = "vec", tag = "1")]
    id: Vec<u8>,
    #[prost(string, tag = "3")]
    name: String,
    #[prost(uint64, tag = "6")]
    version: u64,
}

/// Returns the profiles in routing information that their owners signed; none if the information is
/// malformed.
pub fn profiles(octets: &[u8]) -> Vec<Profile> {
    let users = decoded::<Signed>(octets)
        .and_then(|signed| decoded::<Told>(&signed.message))
        .ok()
        .filter(|told| told.module == USERS)
        .and_then(|told| decoded::<Users>(&told.content).ok());
    let all = users.into_iter().flat_map(|users| users.profiles);
    all.filter_map(|signed| profile(&signed)).collect()
}

fn profile(signed: &SignedProfile) -> Option<Profile> {
    let said: UserProfile = decoded(&signed.profile).ok()?;
    let node = Node::read(&said.id)?;
    let key = UnparsedPublicKey::new(&ED25519, node.0);
    key.verify(&signed.profile, &signed.signature).ok()?;
    let named = !said.name.is_empty() && said.name.len() <= LONGEST;
    named.then_some(Profile {
        node,
        name: said.name,
        version: said.version,
    })
}

#[cfg(test)]
mod tests {
    use prost::Message as _;

    use super::*;
    use crate::envelope::wire::{Envelope, Kind};
    use crate::envelope::{Content, Key, read};

    fn said(key: &Key, name: &str) -> SignedProfile {
        let profile = UserProfile {
            id: key.node().octets(),
            name: name.to_owned(),
            version: 2,
        };
        let profile = profile.encode_to_vec();
        SignedProfile {
            signature: key.sign(&profile).to_vec(),
            profile,
        }
    }

    fn told(module: i32, profiles: Vec<SignedProfile>) -> Vec<u8> {
        let told = Told {
            module,
            content: Users { profiles }.encode_to_vec(),
        };
        let signed = Signed {
            signature: Vec::new(),
            message: told.encode_to_vec(),
        };
        let kind = Some(Kind::Info(signed.encode_to_vec()));
        Envelope { kind }.encode_to_vec()
    }

    #[test]
    fn a_name_is_known_that_its_owner_signed() {
        let [one, other] = [1, 2].map(|it| Key::from_seed(&[it; 32]).expect("any seed"));
        let mut forged = said(&one, "Ada");
        forged.signature = said(&other, "Ada").signature;
        let all = vec![
            said(&one, "Ada"),
            forged,
            said(&other, ""),
            said(&other, &"x".repeat(LONGEST + 1)),
        ];
        let known = Profile {
            node: one.node(),
            name: "Ada".to_owned(),
            version: 2,
        };
        let read = |module| read(&told(module, all.clone()));
        assert_eq!(read(USERS), Ok(Content::Routing(vec![known])));
        assert_eq!(read(0), Ok(Content::Routing(Vec::new())), "of routes");
    }
}
