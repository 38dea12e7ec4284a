//! LibreMesh, which generates the configuration of networks.

use weir_setup_core::plan::ports::{PortRole, Refusal, UplinkProtocol};

use crate::ports::{found, good, lines, refused, router, text, used, wish};

const LIME: &str = "package lime-node
config lime 'system'
 option hostname 'roof'

package network
config device
 option name 'br-lan'
 option type 'bridge'
 list ports 'lan1'
config interface 'lan'
 option device 'br-lan'
";

#[test]
fn libremesh_is_told_by_its_own_file() {
    let before = router(LIME);
    assert_eq!(used(&before, "lan1").used, PortRole::Lan);
    for (asked, role, protocols) in [
        (PortRole::Uplink, "wan", vec!["wan", "dynamic"]),
        (PortRole::Mesh, "mesh", vec!["batadv:%N1", "babeld:17"]),
        (PortRole::Lan, "lan", vec!["lan"]),
    ] {
        let after = good(&[wish("lan1", asked)], &before);
        let mut expected = vec![
            "+ lime-node.lime_app_eth_cfg_lan1=net".to_owned(),
            "+ lime-node.lime_app_eth_cfg_lan1.linux_name='lan1'".to_owned(),
            format!("+ lime-node.lime_app_eth_cfg_lan1.eth_role='{role}'"),
        ];
        for protocol in protocols {
            expected.push(format!(
                "+ lime-node.lime_app_eth_cfg_lan1.protocols+='{protocol}'"
            ));
        }
        expected.push("+ lime-node.lime_app_eth_cfg_lan1.weir='1'".to_owned());
        assert_eq!(lines(&before, &after), expected);
        let one = used(&after, "lan1");
        assert_eq!((one.used, one.by_weir), (asked, true));
        assert_eq!(text(&good(&[wish("lan1", asked)], &after)), text(&after));
        let none = good(&[wish("lan1", PortRole::None)], &after);
        assert_eq!(text(&none)[1], text(&before)[1]);
        assert_eq!(lines(&before, &none), [""; 0]);
    }
    let why = refused(&[found("lan1", UplinkProtocol::Pppoe, None)], &before);
    assert!(matches!(why, Refusal::NeedsPppoe(_)), "{why}");
}
