//! Templates: the fields of each record, in order. Templates are fixed, so a collector that knows
//! them from before a restart of weir decodes later records correctly (RFC 7011, section 8.4, on
//! UDP).

use super::element::*;

/// Set that holds templates (RFC 7011, section 3.3.2).
pub(super) const TEMPLATE_SET: u16 = 2;
/// Set that holds options templates.
const OPTIONS_SET: u16 = 3;
/// First number that a template may have.
const FIRST: u16 = 256;

/// Kind of record, which determines the template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A flow.
    Flow(FlowShape),
    /// A translation that began or ended.
    Nat,
    /// Messages and records exported (RFC 7011, section 4.1).
    Exported,
    /// Packets that no record was free for (section 4.2).
    Ignored,
    /// Records that could not be sent (section 4.3).
    NotSent,
    /// Name of an interface.
    Interface,
}

/// Properties that determine the template of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowShape {
    /// IPv6, otherwise IPv4.
    pub ipv6: bool,
    /// Fields of layer 4.
    pub layer4: Layer4,
    /// Direction of the flow.
    pub view: View,
    /// True for a field with the application's name. Without a name the field is left out: some
    /// decoders take a length of 0 for an error.
    pub application: bool,
    /// True for a field with the name of the remote end, which is left out likewise.
    pub named: bool,
}

/// Layer 4 fields in the record of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer4 {
    /// Ports.
    Ports,
    /// Ports, and how TCP waited.
    Tcp,
    /// Type and code of ICMP.
    Icmp,
}

const LAYERS: [Layer4; 3] = [Layer4::Ports, Layer4::Tcp, Layer4::Icmp];

/// Direction of a flow in a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// The direction that the station sent.
    Sent,
    /// The sent direction, and its translation.
    SentTranslated,
    /// The direction that the station received.
    Received,
    /// Both in one record (RFC 5103).
    Both,
    /// Both directions, and the translation of the station's packets.
    BothTranslated,
}

const VIEWS: [View; 5] = [
    View::Sent,
    View::SentTranslated,
    View::Received,
    View::Both,
    View::BothTranslated,
];

/// Shapes of flows: two families, of each layer 4, with or without an application and a name, each
/// way.
const FLOWS: usize = 2 * LAYERS.len() * 4 * VIEWS.len();

impl Shape {
    /// Returns all shapes; the position of a shape is [`Shape::index`].
    pub fn all() -> impl Iterator<Item = Shape> {
        let flows = (0..FLOWS).map(|index| {
            let (rest, view) = (index / VIEWS.len(), index % VIEWS.len());
            let (family, layer4) = (rest / 4 / LAYERS.len(), rest / 4 % LAYERS.len());
            Shape::Flow(FlowShape {
                ipv6: family == 1,
                layer4: LAYERS[layer4],
                application: rest / 2 % 2 == 1,
                named: rest % 2 == 1,
                view: VIEWS[view],
            })
        });
        flows.chain([
            Shape::Nat,
            Shape::Exported,
            Shape::Ignored,
            Shape::NotSent,
            Shape::Interface,
        ])
    }

    /// Returns the position in [`Shape::all`].
    pub fn index(self) -> usize {
        match self {
            Shape::Flow(flow) => {
                let kind = usize::from(flow.ipv6) * LAYERS.len() + flow.layer4 as usize;
                let kind = kind * 4 + usize::from(flow.application) * 2 + usize::from(flow.named);
                kind * VIEWS.len() + flow.view as usize
            }
            Shape::Nat => FLOWS,
            Shape::Exported => FLOWS + 1,
            Shape::Ignored => FLOWS + 2,
            Shape::NotSent => FLOWS + 3,
            Shape::Interface => FLOWS + 4,
        }
    }

    /// Returns the number of scope fields, which come first: the subject of an option. 0 for
    /// records that are not options.
    fn scopes(self) -> u16 {
        match self {
            Shape::Flow(_) | Shape::Nat => 0,
            Shape::Exported | Shape::Ignored | Shape::NotSent | Shape::Interface => 1,
        }
    }

    fn fields(self) -> Vec<Element> {
        match self {
            Shape::Flow(flow) => flow.fields(),
            // The elements of RFC 8158, section 8.2, but for those that a router with one
            // translation has no value for.
            Shape::Nat => vec![
                OBSERVATION_TIME_MILLISECONDS,
                NAT_EVENT,
                SOURCE_IPV4_ADDRESS,
                POST_NAT_SOURCE_IPV4_ADDRESS,
                PROTOCOL_IDENTIFIER,
                SOURCE_TRANSPORT_PORT,
                POST_NAPT_SOURCE_TRANSPORT_PORT,
                DESTINATION_IPV4_ADDRESS,
                POST_NAT_DESTINATION_IPV4_ADDRESS,
                DESTINATION_TRANSPORT_PORT,
                POST_NAPT_DESTINATION_TRANSPORT_PORT,
                NAT_ORIGINATING_ADDRESS_REALM,
            ],
            Shape::Exported => vec![
                OBSERVATION_DOMAIN_ID,
                EXPORTED_MESSAGE_TOTAL_COUNT,
                EXPORTED_FLOW_RECORD_TOTAL_COUNT,
                EXPORTED_OCTET_TOTAL_COUNT,
            ],
            // The two times are of the first and of the last.
            Shape::Ignored => vec![
                OBSERVATION_DOMAIN_ID,
                IGNORED_PACKET_TOTAL_COUNT,
                IGNORED_OCTET_TOTAL_COUNT,
                OBSERVATION_TIME_MILLISECONDS,
                OBSERVATION_TIME_MILLISECONDS,
            ],
            Shape::NotSent => vec![
                EXPORTING_PROCESS_ID,
                NOT_SENT_FLOW_TOTAL_COUNT,
                NOT_SENT_PACKET_TOTAL_COUNT,
                NOT_SENT_OCTET_TOTAL_COUNT,
                OBSERVATION_TIME_MILLISECONDS,
                OBSERVATION_TIME_MILLISECONDS,
            ],
            Shape::Interface => vec![INGRESS_INTERFACE, INTERFACE_NAME],
        }
    }
}

impl FlowShape {
    fn fields(self) -> Vec<Element> {
        let mut fields = vec![FLOW_START_MILLISECONDS, FLOW_END_MILLISECONDS];
        fields.extend(if self.ipv6 {
            [SOURCE_IPV6_ADDRESS, DESTINATION_IPV6_ADDRESS]
        } else {
            [SOURCE_IPV4_ADDRESS, DESTINATION_IPV4_ADDRESS]
        });
        fields.push(PROTOCOL_IDENTIFIER);
        let of_icmp = self.layer4 == Layer4::Icmp;
        let icmp = if self.ipv6 {
            ICMP_TYPE_CODE_IPV6
        } else {
            ICMP_TYPE_CODE_IPV4
        };
        if of_icmp {
            fields.push(icmp);
        } else {
            fields.extend([SOURCE_TRANSPORT_PORT, DESTINATION_TRANSPORT_PORT]);
            fields.push(TCP_CONTROL_BITS);
        }
        fields.extend([IP_CLASS_OF_SERVICE, INGRESS_INTERFACE, EGRESS_INTERFACE]);
        fields.extend(match self.view {
            View::Received => [POST_VLAN_ID, POST_DESTINATION_MAC_ADDRESS],
            _ => [VLAN_ID, SOURCE_MAC_ADDRESS],
        });
        fields.extend([
            FLOW_DIRECTION,
            OCTET_DELTA_COUNT,
            PACKET_DELTA_COUNT,
            FLOW_END_REASON,
            EXTERNAL_ADDRESS_REALM,
        ]);
        let both = matches!(self.view, View::Both | View::BothTranslated);
        if self.layer4 == Layer4::Tcp {
            fields.extend([CLIENT_NW_LATENCY_MS, SERVER_NW_LATENCY_MS]);
            fields.push(RETRANSMITTED_IN_PKTS);
            fields.extend(both.then_some(RETRANSMITTED_OUT_PKTS));
        }
        if both {
            fields.extend([
                OCTET_DELTA_COUNT.reversed(),
                PACKET_DELTA_COUNT.reversed(),
                IP_CLASS_OF_SERVICE.reversed(),
                if of_icmp { icmp } else { TCP_CONTROL_BITS }.reversed(),
                BIFLOW_DIRECTION,
            ]);
        }
        if matches!(self.view, View::SentTranslated | View::BothTranslated) {
            fields.extend(if self.ipv6 {
                [
                    POST_NAT_SOURCE_IPV6_ADDRESS,
                    POST_NAT_DESTINATION_IPV6_ADDRESS,
                ]
            } else {
                [
                    POST_NAT_SOURCE_IPV4_ADDRESS,
                    POST_NAT_DESTINATION_IPV4_ADDRESS,
                ]
            });
            if !of_icmp {
                fields.extend([
                    POST_NAPT_SOURCE_TRANSPORT_PORT,
                    POST_NAPT_DESTINATION_TRANSPORT_PORT,
                ]);
            }
        }
        if self.application {
            fields.push(APPLICATION_NAME);
        }
        if self.named {
            fields.push(FLOW_SERVER_NAME);
        }
        fields
    }
}

/// A template, as it is announced.
#[derive(Clone, Debug)]
pub struct Template {
    /// Number of it, and of the sets of its records.
    pub id: u16,
    /// Fields of a record, in their order.
    pub fields: Vec<Element>,
    scopes: u16,
}

impl Template {
    /// Creates the template for `shape`.
    pub fn new(shape: Shape) -> Self {
        Self {
            id: FIRST + shape.index() as u16,
            fields: shape.fields(),
            scopes: shape.scopes(),
        }
    }

    /// Returns the number of the set that announces the template.
    pub fn set(&self) -> u16 {
        if self.scopes == 0 {
            TEMPLATE_SET
        } else {
            OPTIONS_SET
        }
    }

    /// Writes the announcement (RFC 7011, sections 3.4.1 and 3.4.2.2).
    pub fn write(&self, out: &mut Vec<u8>) {
        put(out, self.id);
        put(out, self.fields.len() as u16);
        if self.scopes > 0 {
            put(out, self.scopes);
        }
        for field in &self.fields {
            let own = if field.enterprise == 0 { 0 } else { 0x8000 };
            put(out, field.number | own);
            put(out, field.length);
            if field.enterprise != 0 {
                out.extend(field.enterprise.to_be_bytes());
            }
        }
    }
}

fn put(out: &mut Vec<u8>, value: u16) {
    out.extend(value.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_shape_has_a_place_and_a_number_of_its_own() {
        for (index, shape) in Shape::all().enumerate() {
            assert_eq!(shape.index(), index, "{shape:?}");
            assert_eq!(usize::from(Template::new(shape).id), 256 + index);
        }
    }

    #[test]
    fn a_template_is_announced_as_long_as_its_fields_say() {
        for shape in Shape::all() {
            let template = Template::new(shape);
            let mut out = Vec::new();
            template.write(&mut out);
            let fields: usize = template.fields.iter().map(|f| f.specifier_length()).sum();
            let header = if template.set() == OPTIONS_SET { 6 } else { 4 };
            assert_eq!(out.len(), header + fields, "{shape:?}");
        }
    }
}
