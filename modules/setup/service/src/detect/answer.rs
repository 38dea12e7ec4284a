//! Results of the detection, for the API.

use ::detect::{Details, Evidence, Internet, Lan, Suggestion};
use answers::{SetupDetails, SetupEvidence, SetupInternet, SetupLan, SetupSuggestion, SetupUplink};

use super::Found;

/// Converts a result for the API.
pub fn answer(found: &Found) -> SetupUplink {
    SetupUplink {
        port: found.port.clone(),
        evidence: found.evidence.iter().map(evidence).collect(),
        suggestion: suggestion(&found.suggestion),
    }
}

/// Converts a piece of evidence for the API.
pub fn evidence(heard: &Evidence) -> SetupEvidence {
    let fields = heard.fields.iter();
    SetupEvidence {
        kind: heard.kind.name().to_owned(),
        vlan: heard.vlan,
        after: heard.after,
        fields: fields
            .map(|(name, values)| ((*name).to_owned(), values.clone()))
            .collect(),
        text: heard.text.clone(),
    }
}

fn suggestion(said: &Suggestion) -> SetupSuggestion {
    SetupSuggestion {
        internet: match said.internet {
            Internet::Dhcp => SetupInternet::Dhcp,
            Internet::Static => SetupInternet::Static,
            Internet::Pppoe => SetupInternet::Pppoe,
            Internet::Ipv6Only => SetupInternet::Ipv6Only,
            Internet::None => SetupInternet::None,
        },
        vlan: said.vlan,
        details: details(&said.details),
        lan: said.lan.as_ref().map(lan),
        why: said.why.clone(),
        confident: said.confident,
        open_questions: said.open_questions.clone(),
    }
}

fn lan(lan: &Lan) -> SetupLan {
    SetupLan {
        former: lan.former.to_string(),
        network: lan.network.map(|network| network.to_string()),
        why: lan.why.clone(),
    }
}

fn details(known: &Details) -> SetupDetails {
    let known = known.clone();
    SetupDetails {
        services: known.services,
        concentrators: known.concentrators,
        servers: known.servers,
        addresses: known.addresses,
        network: known.network.map(|network| network.to_string()),
        gateway: known.gateway,
        dns: known.dns,
        prefixes: known.prefixes,
        delegated: known.delegated,
        ipv6: known.ipv6,
        aftr: known.aftr,
        shared: known.shared,
        nat64: known.nat64,
        portal: known.portal,
    }
}
