// What the daemon's types write, with all that may be there, and with nothing that
// need not: written by crates/web/tests/web/answers.rs (WEIR_UPDATE_GOLDEN=1), held against the
// page's types by its compiler.
import type { Conditions, Devices, Problem, Session, Status } from "@/api/types";
import type { Cables, CableEvents } from "@modules/cables/web/types";
import type { Explanation, FlowList, History, Hop, Conversations } from "@modules/monitor/web/types";
import type { Paths } from "@modules/multipath/web/types";
import type { PortalClients, PortalFigures, PortalPage, PortalVoucher } from "@modules/portal/web/types";
import type { Radios, RadioLog, RadioPeers } from "@modules/radio/web/types";
import type { Setup, Plan, Applied, Detection, Join } from "@modules/setup/web/types";

const aConditions0 = {
    "conditions": [{
      "hint": "1f00c2aa" as const,
      "id": "1f00c2aa" as const,
      "key": "1f00c2aa" as const,
      "module": "1f00c2aa" as const,
      "parameters": {
        "1f00c2aa": "1f00c2aa" as const,
      },
      "severity": "critical" as const,
      "since": 1,
      "subject": "1f00c2aa" as const,
      "text": "1f00c2aa" as const,
      "view": "1f00c2aa" as const,
    }],
    "now": 1,
  };
export const isConditions0: Conditions = aConditions0;

const aConditions1 = {
    "conditions": [{
      "hint": "1f00c2aa" as const,
      "id": "1f00c2aa" as const,
      "key": "1f00c2aa" as const,
      "module": "1f00c2aa" as const,
      "parameters": {
        "1f00c2aa": "1f00c2aa" as const,
      },
      "severity": "warning" as const,
      "since": 1,
      "subject": "1f00c2aa" as const,
      "text": "1f00c2aa" as const,
      "view": "1f00c2aa" as const,
    }],
    "now": 1,
  };
export const isConditions1: Conditions = aConditions1;

const aConditions2 = {
    "conditions": [{
      "hint": "1f00c2aa" as const,
      "id": "1f00c2aa" as const,
      "key": "1f00c2aa" as const,
      "module": "1f00c2aa" as const,
      "parameters": {
        "1f00c2aa": "1f00c2aa" as const,
      },
      "severity": "hint" as const,
      "since": 1,
      "subject": "1f00c2aa" as const,
      "text": "1f00c2aa" as const,
      "view": "1f00c2aa" as const,
    }],
    "now": 1,
  };
export const isConditions2: Conditions = aConditions2;

const aConditions3 = {
    "conditions": [{
      "id": "1f00c2aa" as const,
      "key": "1f00c2aa" as const,
      "module": "1f00c2aa" as const,
      "parameters": {
        "1f00c2aa": "1f00c2aa" as const,
      },
      "severity": "critical" as const,
      "since": 1,
      "subject": "1f00c2aa" as const,
      "text": "1f00c2aa" as const,
      "view": "1f00c2aa" as const,
    }],
    "now": 1,
  };
export const isConditions3: Conditions = aConditions3;

const aConditions4 = {
    "conditions": [],
    "now": 1,
  };
export const isConditions4: Conditions = aConditions4;

const aDevices0 = {
    "devices": [{
      "addresses": ["1f00c2aa" as const],
      "configured": ["1f00c2aa" as const],
      "conversations": 1,
      "first_seen": 1,
      "forwarded": {
        "bytes": 1,
        "packets": 1,
      },
      "icon": "1f00c2aa" as const,
      "lan": {
        "rate": {
          "received": 1,
          "sent": 1,
        },
        "received": {
          "bytes": 1,
          "packets": 1,
        },
        "sent": {
          "bytes": 1,
          "packets": 1,
        },
      },
      "last_seen": 1,
      "latency": {
        "bufferbloat": "1f00c2aa" as const,
        "growth": 0.5,
        "lan": 0.5,
        "lan_min": 0.5,
        "retransmissions": 1,
        "wan": 0.5,
        "wan_min": 0.5,
      },
      "local_mac": true,
      "mac": "1f00c2aa" as const,
      "name": "1f00c2aa" as const,
      "name_source": "1f00c2aa" as const,
      "owner": "1f00c2aa" as const,
      "port": "1f00c2aa" as const,
      "quota": {
        "limit": 1,
        "period": "1f00c2aa" as const,
        "resets": 1,
        "state": "1f00c2aa" as const,
        "used": 1,
      },
      "rate": {
        "received": 1,
        "sent": 1,
      },
      "received": {
        "bytes": 1,
        "packets": 1,
      },
      "sent": {
        "bytes": 1,
        "packets": 1,
      },
      "uplink": true,
      "vendor": "1f00c2aa" as const,
      "vlan": 1,
      "wifi": {
        "airtime": 1,
        "failed": 1,
        "rate_from": 1,
        "rate_to": 1,
        "retries": 1,
        "signal": 1,
      },
    }],
    "now": 1,
    "ports": [{
      "incoming": {
        "conversations": {
          "bytes": 1,
          "packets": 1,
        },
        "link": 1,
        "other": {
          "bytes": 1,
          "packets": 1,
        },
        "unplaced": {
          "bytes": 1,
          "packets": 1,
        },
      },
      "name": "1f00c2aa" as const,
      "outgoing": {
        "conversations": {
          "bytes": 1,
          "packets": 1,
        },
        "link": 1,
        "other": {
          "bytes": 1,
          "packets": 1,
        },
        "unplaced": {
          "bytes": 1,
          "packets": 1,
        },
      },
      "rate": {
        "received": 1,
        "sent": 1,
      },
      "uplink": true,
    }],
    "since": 1,
    "unseen": [{
      "configured": ["1f00c2aa" as const],
      "icon": "1f00c2aa" as const,
      "mac": "1f00c2aa" as const,
      "name": "1f00c2aa" as const,
      "owner": "1f00c2aa" as const,
    }],
  };
export const isDevices0: Devices = aDevices0;

const aDevices1 = {
    "devices": [{
      "addresses": ["1f00c2aa" as const],
      "configured": ["1f00c2aa" as const],
      "conversations": 1,
      "first_seen": 1,
      "forwarded": {
        "bytes": 1,
        "packets": 1,
      },
      "lan": {
        "rate": {
          "received": 1,
          "sent": 1,
        },
        "received": {
          "bytes": 1,
          "packets": 1,
        },
        "sent": {
          "bytes": 1,
          "packets": 1,
        },
      },
      "last_seen": 1,
      "local_mac": true,
      "mac": "1f00c2aa" as const,
      "name": null,
      "port": "1f00c2aa" as const,
      "rate": {
        "received": 1,
        "sent": 1,
      },
      "received": {
        "bytes": 1,
        "packets": 1,
      },
      "sent": {
        "bytes": 1,
        "packets": 1,
      },
      "uplink": true,
    }],
    "now": 1,
    "ports": [{
      "incoming": {
        "conversations": {
          "bytes": 1,
          "packets": 1,
        },
        "link": 1,
        "other": {
          "bytes": 1,
          "packets": 1,
        },
        "unplaced": {
          "bytes": 1,
          "packets": 1,
        },
      },
      "name": "1f00c2aa" as const,
      "outgoing": {
        "conversations": {
          "bytes": 1,
          "packets": 1,
        },
        "link": 1,
        "other": {
          "bytes": 1,
          "packets": 1,
        },
        "unplaced": {
          "bytes": 1,
          "packets": 1,
        },
      },
      "rate": {
        "received": 1,
        "sent": 1,
      },
      "uplink": true,
    }],
    "since": 1,
    "unseen": [{
      "configured": ["1f00c2aa" as const],
      "icon": null,
      "mac": "1f00c2aa" as const,
      "name": null,
      "owner": null,
    }],
  };
export const isDevices1: Devices = aDevices1;

const aDevices2 = {
    "devices": [],
    "now": 1,
    "ports": [],
    "since": 1,
  };
export const isDevices2: Devices = aDevices2;

const aProblem0 = {
    "detail": "1f00c2aa" as const,
    "error": "1f00c2aa" as const,
    "errors": ["1f00c2aa" as const],
    "fields": ["1f00c2aa" as const],
    "hint": "1f00c2aa" as const,
    "status": 1,
  };
export const isProblem0: Problem = aProblem0;

const aProblem1 = {
    "detail": "1f00c2aa" as const,
    "error": "1f00c2aa" as const,
    "hint": "1f00c2aa" as const,
    "status": 1,
  };
export const isProblem1: Problem = aProblem1;

const aSession0 = {
    "csrf": "1f00c2aa" as const,
    "local": true,
    "password_set": true,
    "user": true,
  };
export const isSession0: Session = aSession0;

const aStatus0 = {
    "armed": true,
    "bumps": {
      "1f00c2aa": 1,
    },
    "drops": {
      "learned": 0,
      "routes": 0,
      "sets": 0,
    },
    "each_packet": {
      "connections": 1,
      "rules": [{
        "connections": 1,
        "rule": "1f00c2aa" as const,
        "why": "1f00c2aa" as const,
      }],
    },
    "epoch": 1,
    "fast_path_share": 0.5,
    "flows": {
      "capacity": 1,
      "ipv4": {
        "declined": 1,
        "known": 1,
        "proven": 1,
      },
      "ipv6": {
        "declined": 1,
        "known": 1,
        "proven": 1,
      },
    },
    "heartbeat": {
      "age_seconds": 0.5,
      "limit_seconds": 0.5,
    },
    "hops": {
      "capacity": 1,
      "used": 1,
    },
    "lost_events": 1,
    "mode": "forward" as const,
    "modules": ["1f00c2aa" as const],
    "monitor": {
      "capacity": 0,
      "conversations": 0,
      "memory": 0,
      "memory_limit": 0,
      "overflow": {
        "bytes": 0,
        "packets": 0,
      },
    },
    "multipath": {
      "locked": true,
      "open": 1,
      "partner": "1f00c2aa" as const,
      "redirects": true,
      "standby": true,
      "state": "off" as const,
      "uplinks": 1,
    },
    "netns": 1,
    "packets": {
      "bytes": 1,
      "forwarded_tc": 1,
      "forwarded_xdp": 1,
      "not_proof": {
        "1f00c2aa": 1,
      },
      "passed": {
        "1f00c2aa": 1,
      },
    },
    "problems": [{
      "hint": "" as const,
      "part": "" as const,
      "what": "" as const,
    }],
    "refused": {
      "1f00c2aa": 1,
    },
    "shadow": {
      "different": 0,
      "same": 0,
    },
    "started": 1,
    "starting": true,
    "uptime_seconds": 1,
    "version": "1f00c2aa" as const,
  };
export const isStatus0: Status = aStatus0;

const aStatus1 = {
    "armed": true,
    "bumps": {
      "1f00c2aa": 1,
    },
    "drops": {
      "learned": 0,
      "routes": 0,
      "sets": 0,
    },
    "each_packet": {
      "connections": 1,
      "rules": [{
        "connections": 1,
        "rule": "1f00c2aa" as const,
        "why": "1f00c2aa" as const,
      }],
    },
    "epoch": 1,
    "fast_path_share": 0.5,
    "flows": {
      "capacity": 1,
      "ipv4": {
        "declined": 1,
        "known": 1,
        "proven": 1,
      },
      "ipv6": {
        "declined": 1,
        "known": 1,
        "proven": 1,
      },
    },
    "heartbeat": {
      "age_seconds": 0.5,
      "limit_seconds": 0.5,
    },
    "hops": {
      "capacity": 1,
      "used": 1,
    },
    "lost_events": 1,
    "mode": "shadow" as const,
    "modules": ["1f00c2aa" as const],
    "monitor": {
      "capacity": 0,
      "conversations": 0,
      "memory": 0,
      "memory_limit": 0,
      "overflow": {
        "bytes": 0,
        "packets": 0,
      },
    },
    "multipath": {
      "locked": true,
      "open": 1,
      "partner": "1f00c2aa" as const,
      "redirects": true,
      "standby": true,
      "state": "connecting" as const,
      "uplinks": 1,
    },
    "netns": 1,
    "packets": {
      "bytes": 1,
      "forwarded_tc": 1,
      "forwarded_xdp": 1,
      "not_proof": {
        "1f00c2aa": 1,
      },
      "passed": {
        "1f00c2aa": 1,
      },
    },
    "problems": [{
      "hint": "" as const,
      "part": "" as const,
      "what": "" as const,
    }],
    "refused": {
      "1f00c2aa": 1,
    },
    "shadow": {
      "different": 0,
      "same": 0,
    },
    "started": 1,
    "starting": true,
    "uptime_seconds": 1,
    "version": "1f00c2aa" as const,
  };
export const isStatus1: Status = aStatus1;

const aStatus2 = {
    "armed": true,
    "bumps": {
      "1f00c2aa": 1,
    },
    "drops": {
      "learned": 0,
      "routes": 0,
      "sets": 0,
    },
    "each_packet": {
      "connections": 1,
      "rules": [{
        "connections": 1,
        "rule": "1f00c2aa" as const,
        "why": "1f00c2aa" as const,
      }],
    },
    "epoch": 1,
    "fast_path_share": 0.5,
    "flows": {
      "capacity": 1,
      "ipv4": {
        "declined": 1,
        "known": 1,
        "proven": 1,
      },
      "ipv6": {
        "declined": 1,
        "known": 1,
        "proven": 1,
      },
    },
    "heartbeat": {
      "age_seconds": 0.5,
      "limit_seconds": 0.5,
    },
    "hops": {
      "capacity": 1,
      "used": 1,
    },
    "lost_events": 1,
    "mode": "forward" as const,
    "modules": ["1f00c2aa" as const],
    "monitor": {
      "capacity": 0,
      "conversations": 0,
      "memory": 0,
      "memory_limit": 0,
      "overflow": {
        "bytes": 0,
        "packets": 0,
      },
    },
    "multipath": {
      "locked": true,
      "open": 1,
      "partner": "1f00c2aa" as const,
      "redirects": true,
      "standby": true,
      "state": "connected" as const,
      "uplinks": 1,
    },
    "netns": 1,
    "packets": {
      "bytes": 1,
      "forwarded_tc": 1,
      "forwarded_xdp": 1,
      "not_proof": {
        "1f00c2aa": 1,
      },
      "passed": {
        "1f00c2aa": 1,
      },
    },
    "problems": [{
      "hint": "" as const,
      "part": "" as const,
      "what": "" as const,
    }],
    "refused": {
      "1f00c2aa": 1,
    },
    "shadow": {
      "different": 0,
      "same": 0,
    },
    "started": 1,
    "starting": true,
    "uptime_seconds": 1,
    "version": "1f00c2aa" as const,
  };
export const isStatus2: Status = aStatus2;

const aStatus3 = {
    "armed": true,
    "bumps": {
      "1f00c2aa": 1,
    },
    "drops": {
      "learned": 0,
      "routes": 0,
      "sets": 0,
    },
    "each_packet": {
      "connections": 1,
      "rules": [{
        "connections": 1,
        "rule": "1f00c2aa" as const,
        "why": "1f00c2aa" as const,
      }],
    },
    "epoch": 1,
    "fast_path_share": 0.5,
    "flows": {
      "capacity": 1,
      "ipv4": {
        "declined": 1,
        "known": 1,
        "proven": 1,
      },
      "ipv6": {
        "declined": 1,
        "known": 1,
        "proven": 1,
      },
    },
    "heartbeat": {
      "age_seconds": 0.5,
      "limit_seconds": 0.5,
    },
    "hops": {
      "capacity": 1,
      "used": 1,
    },
    "lost_events": 1,
    "mode": "shadow" as const,
    "modules": ["1f00c2aa" as const],
    "monitor": {
      "capacity": 0,
      "conversations": 0,
      "memory": 0,
      "memory_limit": 0,
      "overflow": {
        "bytes": 0,
        "packets": 0,
      },
    },
    "multipath": {
      "locked": true,
      "open": 1,
      "partner": "1f00c2aa" as const,
      "redirects": true,
      "standby": true,
      "state": "failed" as const,
      "uplinks": 1,
    },
    "netns": 1,
    "packets": {
      "bytes": 1,
      "forwarded_tc": 1,
      "forwarded_xdp": 1,
      "not_proof": {
        "1f00c2aa": 1,
      },
      "passed": {
        "1f00c2aa": 1,
      },
    },
    "problems": [{
      "hint": "" as const,
      "part": "" as const,
      "what": "" as const,
    }],
    "refused": {
      "1f00c2aa": 1,
    },
    "shadow": {
      "different": 0,
      "same": 0,
    },
    "started": 1,
    "starting": true,
    "uptime_seconds": 1,
    "version": "1f00c2aa" as const,
  };
export const isStatus3: Status = aStatus3;

const aStatus4 = {
    "armed": true,
    "bumps": {
      "1f00c2aa": 1,
    },
    "epoch": 1,
    "flows": {
      "capacity": 1,
      "ipv4": {
        "declined": 1,
        "known": 1,
        "proven": 1,
      },
      "ipv6": {
        "declined": 1,
        "known": 1,
        "proven": 1,
      },
    },
    "heartbeat": {
      "age_seconds": 0.5,
      "limit_seconds": 0.5,
    },
    "hops": {
      "capacity": 1,
      "used": 1,
    },
    "lost_events": 1,
    "mode": "forward" as const,
    "modules": ["1f00c2aa" as const],
    "netns": 1,
    "packets": {
      "bytes": 1,
      "forwarded_tc": 1,
      "forwarded_xdp": 1,
      "not_proof": {
        "1f00c2aa": 1,
      },
      "passed": {
        "1f00c2aa": 1,
      },
    },
    "refused": {
      "1f00c2aa": 1,
    },
    "started": 1,
    "uptime_seconds": 1,
    "version": "1f00c2aa" as const,
  };
export const isStatus4: Status = aStatus4;

const aStatus5 = {
    "armed": true,
    "bumps": {},
    "epoch": 1,
    "flows": {
      "capacity": 1,
      "ipv4": {
        "declined": 1,
        "known": 1,
        "proven": 1,
      },
      "ipv6": {
        "declined": 1,
        "known": 1,
        "proven": 1,
      },
    },
    "heartbeat": {
      "age_seconds": 0.5,
      "limit_seconds": 0.5,
    },
    "hops": {
      "capacity": 1,
      "used": 1,
    },
    "lost_events": 1,
    "mode": "forward" as const,
    "modules": [],
    "netns": 1,
    "packets": {
      "bytes": 1,
      "forwarded_tc": 1,
      "forwarded_xdp": 1,
      "not_proof": {},
      "passed": {},
    },
    "refused": {},
    "started": 1,
    "uptime_seconds": 1,
    "version": "1f00c2aa" as const,
  };
export const isStatus5: Status = aStatus5;

const aCables0 = {
    "cables": [{
      "change_condition": "1f00c2aa" as const,
      "confidence": 1,
      "decided": 1,
      "device": "1f00c2aa" as const,
      "evidence": [{
        "after": 1,
        "kind": "1f00c2aa" as const,
        "text": "1f00c2aa" as const,
      }],
      "held_by": "1f00c2aa" as const,
      "link": true,
      "moving": "1f00c2aa" as const,
      "notices": ["1f00c2aa" as const],
      "now": "1f00c2aa" as const,
      "role": "1f00c2aa" as const,
      "shut": true,
      "why": "1f00c2aa" as const,
    }],
    "mode": "1f00c2aa" as const,
  };
export const isCables0: Cables = aCables0;

const aCables1 = {
    "cables": [{
      "change_condition": "1f00c2aa" as const,
      "confidence": 1,
      "decided": null,
      "device": "1f00c2aa" as const,
      "evidence": [{
        "after": 1,
        "kind": "1f00c2aa" as const,
        "text": "1f00c2aa" as const,
      }],
      "held_by": null,
      "link": true,
      "moving": null,
      "notices": ["1f00c2aa" as const],
      "now": "1f00c2aa" as const,
      "role": "1f00c2aa" as const,
      "shut": true,
      "why": "1f00c2aa" as const,
    }],
    "mode": "1f00c2aa" as const,
  };
export const isCables1: Cables = aCables1;

const aCables2 = {
    "cables": [],
    "mode": "1f00c2aa" as const,
  };
export const isCables2: Cables = aCables2;

const aCableEvents0 = {
    "events": [{
      "device": "1f00c2aa" as const,
      "kind": "1f00c2aa" as const,
      "number": 1,
      "text": "1f00c2aa" as const,
      "value": "1f00c2aa" as const,
      "when": 1,
    }],
    "last": 1,
  };
export const isCableEvents0: CableEvents = aCableEvents0;

const aCableEvents1 = {
    "events": [],
    "last": 1,
  };
export const isCableEvents1: CableEvents = aCableEvents1;

const aExplanation0 = {
    "asked": "1f00c2aa" as const,
    "change": ["1f00c2aa" as const],
    "flow": {
      "age_seconds": 1,
      "directions": {
        "original": {
          "bytes": 1,
          "encapsulation_in": "1f00c2aa" as const,
          "hook": "xdp" as const,
          "hop": 1,
          "longest": 1,
          "packets": 1,
          "port_in": "1f00c2aa" as const,
          "port_out": "1f00c2aa" as const,
          "proven": true,
          "ttl": {
            "highest": 1,
            "lowest": 1,
          },
        },
        "reply": {
          "bytes": 1,
          "encapsulation_in": "1f00c2aa" as const,
          "hook": "xdp" as const,
          "hop": 1,
          "longest": 1,
          "packets": 1,
          "port_in": "1f00c2aa" as const,
          "port_out": "1f00c2aa" as const,
          "proven": true,
          "ttl": {
            "highest": 1,
            "lowest": 1,
          },
        },
      },
      "id": "000000001f00c2aa" as const,
      "mark": 1,
      "original": {
        "destination": "192.0.2.1" as const,
        "destination_port": 1,
        "source": "192.0.2.1" as const,
        "source_port": 1,
      },
      "protocol": "tcp" as const,
      "reason": {
        "code": "1f00c2aa" as const,
        "hint": "1f00c2aa" as const,
        "text": "1f00c2aa" as const,
      },
      "reply": {
        "destination": "192.0.2.1" as const,
        "destination_port": 1,
        "source": "192.0.2.1" as const,
        "source_port": 1,
      },
      "state": "forwarded" as const,
      "translated": {
        "dnat": true,
        "snat": true,
      },
      "zone": 1,
    },
    "verdict": "1f00c2aa" as const,
    "witnesses": [{
      "name": "seen" as const,
      "ok": true,
      "text": "1f00c2aa" as const,
    }],
  };
export const isExplanation0: Explanation = aExplanation0;

const aExplanation1 = {
    "asked": "1f00c2aa" as const,
    "change": ["1f00c2aa" as const],
    "flow": {
      "age_seconds": 1,
      "directions": {
        "original": {
          "bytes": 1,
          "encapsulation_in": "1f00c2aa" as const,
          "hook": "tc" as const,
          "hop": 1,
          "longest": 1,
          "packets": 1,
          "port_in": "1f00c2aa" as const,
          "port_out": "1f00c2aa" as const,
          "proven": true,
          "ttl": {
            "highest": 1,
            "lowest": 1,
          },
        },
        "reply": {
          "bytes": 1,
          "encapsulation_in": "1f00c2aa" as const,
          "hook": "tc" as const,
          "hop": 1,
          "longest": 1,
          "packets": 1,
          "port_in": "1f00c2aa" as const,
          "port_out": "1f00c2aa" as const,
          "proven": true,
          "ttl": {
            "highest": 1,
            "lowest": 1,
          },
        },
      },
      "id": "000000001f00c2aa" as const,
      "mark": 1,
      "original": {
        "destination": "192.0.2.1" as const,
        "destination_port": 1,
        "source": "192.0.2.1" as const,
        "source_port": 1,
      },
      "protocol": "udp" as const,
      "reason": {
        "code": "1f00c2aa" as const,
        "hint": "1f00c2aa" as const,
        "text": "1f00c2aa" as const,
      },
      "reply": {
        "destination": "192.0.2.1" as const,
        "destination_port": 1,
        "source": "192.0.2.1" as const,
        "source_port": 1,
      },
      "state": "known" as const,
      "translated": {
        "dnat": true,
        "snat": true,
      },
      "zone": 1,
    },
    "verdict": "1f00c2aa" as const,
    "witnesses": [{
      "name": "known" as const,
      "ok": true,
      "text": "1f00c2aa" as const,
    }],
  };
export const isExplanation1: Explanation = aExplanation1;

const aExplanation2 = {
    "asked": "1f00c2aa" as const,
    "change": ["1f00c2aa" as const],
    "flow": {
      "age_seconds": 1,
      "directions": {
        "original": {
          "bytes": 1,
          "encapsulation_in": "1f00c2aa" as const,
          "hook": "xdp" as const,
          "hop": 1,
          "longest": 1,
          "packets": 1,
          "port_in": "1f00c2aa" as const,
          "port_out": "1f00c2aa" as const,
          "proven": true,
          "ttl": {
            "highest": 1,
            "lowest": 1,
          },
        },
        "reply": {
          "bytes": 1,
          "encapsulation_in": "1f00c2aa" as const,
          "hook": "xdp" as const,
          "hop": 1,
          "longest": 1,
          "packets": 1,
          "port_in": "1f00c2aa" as const,
          "port_out": "1f00c2aa" as const,
          "proven": true,
          "ttl": {
            "highest": 1,
            "lowest": 1,
          },
        },
      },
      "id": "000000001f00c2aa" as const,
      "mark": 1,
      "original": {
        "destination": "192.0.2.1" as const,
        "destination_port": 1,
        "source": "192.0.2.1" as const,
        "source_port": 1,
      },
      "protocol": "tcp" as const,
      "reason": {
        "code": "1f00c2aa" as const,
        "hint": "1f00c2aa" as const,
        "text": "1f00c2aa" as const,
      },
      "reply": {
        "destination": "192.0.2.1" as const,
        "destination_port": 1,
        "source": "192.0.2.1" as const,
        "source_port": 1,
      },
      "state": "declined" as const,
      "translated": {
        "dnat": true,
        "snat": true,
      },
      "zone": 1,
    },
    "verdict": "1f00c2aa" as const,
    "witnesses": [{
      "name": "proven" as const,
      "ok": true,
      "text": "1f00c2aa" as const,
    }],
  };
export const isExplanation2: Explanation = aExplanation2;

const aExplanation3 = {
    "asked": "1f00c2aa" as const,
    "change": ["1f00c2aa" as const],
    "flow": {
      "age_seconds": 1,
      "directions": {
        "original": {
          "bytes": 1,
          "encapsulation_in": "1f00c2aa" as const,
          "hook": "tc" as const,
          "hop": 1,
          "longest": 1,
          "packets": 1,
          "port_in": "1f00c2aa" as const,
          "port_out": "1f00c2aa" as const,
          "proven": true,
          "ttl": {
            "highest": 1,
            "lowest": 1,
          },
        },
        "reply": {
          "bytes": 1,
          "encapsulation_in": "1f00c2aa" as const,
          "hook": "tc" as const,
          "hop": 1,
          "longest": 1,
          "packets": 1,
          "port_in": "1f00c2aa" as const,
          "port_out": "1f00c2aa" as const,
          "proven": true,
          "ttl": {
            "highest": 1,
            "lowest": 1,
          },
        },
      },
      "id": "000000001f00c2aa" as const,
      "mark": 1,
      "original": {
        "destination": "192.0.2.1" as const,
        "destination_port": 1,
        "source": "192.0.2.1" as const,
        "source_port": 1,
      },
      "protocol": "udp" as const,
      "reason": {
        "code": "1f00c2aa" as const,
        "hint": "1f00c2aa" as const,
        "text": "1f00c2aa" as const,
      },
      "reply": {
        "destination": "192.0.2.1" as const,
        "destination_port": 1,
        "source": "192.0.2.1" as const,
        "source_port": 1,
      },
      "state": "forwarded" as const,
      "translated": {
        "dnat": true,
        "snat": true,
      },
      "zone": 1,
    },
    "verdict": "1f00c2aa" as const,
    "witnesses": [{
      "name": "seen" as const,
      "ok": true,
      "text": "1f00c2aa" as const,
    }],
  };
export const isExplanation3: Explanation = aExplanation3;

const aExplanation4 = {
    "asked": "1f00c2aa" as const,
    "change": ["1f00c2aa" as const],
    "flow": {
      "age_seconds": 1,
      "directions": {
        "original": {
          "bytes": 1,
          "encapsulation_in": "1f00c2aa" as const,
          "hook": "xdp" as const,
          "hop": 1,
          "longest": 1,
          "packets": 1,
          "port_in": "1f00c2aa" as const,
          "port_out": "1f00c2aa" as const,
          "proven": true,
          "ttl": {
            "highest": 1,
            "lowest": 1,
          },
        },
        "reply": {
          "bytes": 1,
          "encapsulation_in": "1f00c2aa" as const,
          "hook": "xdp" as const,
          "hop": 1,
          "longest": 1,
          "packets": 1,
          "port_in": "1f00c2aa" as const,
          "port_out": "1f00c2aa" as const,
          "proven": true,
          "ttl": {
            "highest": 1,
            "lowest": 1,
          },
        },
      },
      "id": "000000001f00c2aa" as const,
      "mark": 1,
      "original": {
        "destination": "192.0.2.1" as const,
        "destination_port": 1,
        "source": "192.0.2.1" as const,
        "source_port": 1,
      },
      "protocol": "tcp" as const,
      "reason": {
        "code": "1f00c2aa" as const,
        "hint": "1f00c2aa" as const,
        "text": "1f00c2aa" as const,
      },
      "reply": {
        "destination": "192.0.2.1" as const,
        "destination_port": 1,
        "source": "192.0.2.1" as const,
        "source_port": 1,
      },
      "state": "known" as const,
      "translated": {
        "dnat": true,
        "snat": true,
      },
      "zone": 1,
    },
    "verdict": "1f00c2aa" as const,
    "witnesses": [{
      "name": "known" as const,
      "ok": true,
      "text": "1f00c2aa" as const,
    }],
  };
export const isExplanation4: Explanation = aExplanation4;

const aExplanation5 = {
    "asked": "1f00c2aa" as const,
    "change": ["1f00c2aa" as const],
    "flow": {
      "age_seconds": 1,
      "directions": {
        "original": {
          "bytes": 1,
          "encapsulation_in": "1f00c2aa" as const,
          "hook": "tc" as const,
          "hop": 1,
          "longest": 1,
          "packets": 1,
          "port_in": "1f00c2aa" as const,
          "port_out": "1f00c2aa" as const,
          "proven": true,
          "ttl": {
            "highest": 1,
            "lowest": 1,
          },
        },
        "reply": {
          "bytes": 1,
          "encapsulation_in": "1f00c2aa" as const,
          "hook": "tc" as const,
          "hop": 1,
          "longest": 1,
          "packets": 1,
          "port_in": "1f00c2aa" as const,
          "port_out": "1f00c2aa" as const,
          "proven": true,
          "ttl": {
            "highest": 1,
            "lowest": 1,
          },
        },
      },
      "id": "000000001f00c2aa" as const,
      "mark": 1,
      "original": {
        "destination": "192.0.2.1" as const,
        "destination_port": 1,
        "source": "192.0.2.1" as const,
        "source_port": 1,
      },
      "protocol": "udp" as const,
      "reason": {
        "code": "1f00c2aa" as const,
        "hint": "1f00c2aa" as const,
        "text": "1f00c2aa" as const,
      },
      "reply": {
        "destination": "192.0.2.1" as const,
        "destination_port": 1,
        "source": "192.0.2.1" as const,
        "source_port": 1,
      },
      "state": "declined" as const,
      "translated": {
        "dnat": true,
        "snat": true,
      },
      "zone": 1,
    },
    "verdict": "1f00c2aa" as const,
    "witnesses": [{
      "name": "proven" as const,
      "ok": true,
      "text": "1f00c2aa" as const,
    }],
  };
export const isExplanation5: Explanation = aExplanation5;

const aExplanation6 = {
    "asked": "1f00c2aa" as const,
    "change": ["1f00c2aa" as const],
    "verdict": "1f00c2aa" as const,
    "witnesses": [{
      "name": "seen" as const,
      "ok": true,
      "text": "1f00c2aa" as const,
    }],
  };
export const isExplanation6: Explanation = aExplanation6;

const aExplanation7 = {
    "asked": "1f00c2aa" as const,
    "change": [],
    "verdict": "1f00c2aa" as const,
    "witnesses": [],
  };
export const isExplanation7: Explanation = aExplanation7;

const aFlowList0 = {
    "bridged": [{
      "age_seconds": 1,
      "destination": "1f00c2aa" as const,
      "directions": {
        "original": {
          "bytes": 1,
          "encapsulation_in": "1f00c2aa" as const,
          "hook": "xdp" as const,
          "hop": 1,
          "longest": 1,
          "packets": 1,
          "port_in": "1f00c2aa" as const,
          "port_out": "1f00c2aa" as const,
          "proven": true,
          "ttl": {
            "highest": 1,
            "lowest": 1,
          },
        },
        "reply": {
          "bytes": 1,
          "encapsulation_in": "1f00c2aa" as const,
          "hook": "xdp" as const,
          "hop": 1,
          "longest": 1,
          "packets": 1,
          "port_in": "1f00c2aa" as const,
          "port_out": "1f00c2aa" as const,
          "proven": true,
          "ttl": {
            "highest": 1,
            "lowest": 1,
          },
        },
      },
      "reason": {
        "code": "1f00c2aa" as const,
        "hint": "1f00c2aa" as const,
        "text": "1f00c2aa" as const,
      },
      "source": "1f00c2aa" as const,
      "state": "forwarded" as const,
    }],
    "flows": [{
      "age_seconds": 1,
      "directions": {
        "original": {
          "bytes": 1,
          "encapsulation_in": "1f00c2aa" as const,
          "hook": "xdp" as const,
          "hop": 1,
          "longest": 1,
          "packets": 1,
          "port_in": "1f00c2aa" as const,
          "port_out": "1f00c2aa" as const,
          "proven": true,
          "ttl": {
            "highest": 1,
            "lowest": 1,
          },
        },
        "reply": {
          "bytes": 1,
          "encapsulation_in": "1f00c2aa" as const,
          "hook": "xdp" as const,
          "hop": 1,
          "longest": 1,
          "packets": 1,
          "port_in": "1f00c2aa" as const,
          "port_out": "1f00c2aa" as const,
          "proven": true,
          "ttl": {
            "highest": 1,
            "lowest": 1,
          },
        },
      },
      "id": "000000001f00c2aa" as const,
      "mark": 1,
      "original": {
        "destination": "192.0.2.1" as const,
        "destination_port": 1,
        "source": "192.0.2.1" as const,
        "source_port": 1,
      },
      "protocol": "tcp" as const,
      "reason": {
        "code": "1f00c2aa" as const,
        "hint": "1f00c2aa" as const,
        "text": "1f00c2aa" as const,
      },
      "reply": {
        "destination": "192.0.2.1" as const,
        "destination_port": 1,
        "source": "192.0.2.1" as const,
        "source_port": 1,
      },
      "state": "forwarded" as const,
      "translated": {
        "dnat": true,
        "snat": true,
      },
      "zone": 1,
    }],
    "matched": 1,
  };
export const isFlowList0: FlowList = aFlowList0;

const aFlowList1 = {
    "bridged": [{
      "age_seconds": 1,
      "destination": "1f00c2aa" as const,
      "directions": {
        "original": {
          "bytes": 1,
          "encapsulation_in": "1f00c2aa" as const,
          "hook": "tc" as const,
          "hop": 1,
          "longest": 1,
          "packets": 1,
          "port_in": "1f00c2aa" as const,
          "port_out": "1f00c2aa" as const,
          "proven": true,
          "ttl": {
            "highest": 1,
            "lowest": 1,
          },
        },
        "reply": {
          "bytes": 1,
          "encapsulation_in": "1f00c2aa" as const,
          "hook": "tc" as const,
          "hop": 1,
          "longest": 1,
          "packets": 1,
          "port_in": "1f00c2aa" as const,
          "port_out": "1f00c2aa" as const,
          "proven": true,
          "ttl": {
            "highest": 1,
            "lowest": 1,
          },
        },
      },
      "reason": {
        "code": "1f00c2aa" as const,
        "hint": "1f00c2aa" as const,
        "text": "1f00c2aa" as const,
      },
      "source": "1f00c2aa" as const,
      "state": "known" as const,
    }],
    "flows": [{
      "age_seconds": 1,
      "directions": {
        "original": {
          "bytes": 1,
          "encapsulation_in": "1f00c2aa" as const,
          "hook": "tc" as const,
          "hop": 1,
          "longest": 1,
          "packets": 1,
          "port_in": "1f00c2aa" as const,
          "port_out": "1f00c2aa" as const,
          "proven": true,
          "ttl": {
            "highest": 1,
            "lowest": 1,
          },
        },
        "reply": {
          "bytes": 1,
          "encapsulation_in": "1f00c2aa" as const,
          "hook": "tc" as const,
          "hop": 1,
          "longest": 1,
          "packets": 1,
          "port_in": "1f00c2aa" as const,
          "port_out": "1f00c2aa" as const,
          "proven": true,
          "ttl": {
            "highest": 1,
            "lowest": 1,
          },
        },
      },
      "id": "000000001f00c2aa" as const,
      "mark": 1,
      "original": {
        "destination": "192.0.2.1" as const,
        "destination_port": 1,
        "source": "192.0.2.1" as const,
        "source_port": 1,
      },
      "protocol": "udp" as const,
      "reason": {
        "code": "1f00c2aa" as const,
        "hint": "1f00c2aa" as const,
        "text": "1f00c2aa" as const,
      },
      "reply": {
        "destination": "192.0.2.1" as const,
        "destination_port": 1,
        "source": "192.0.2.1" as const,
        "source_port": 1,
      },
      "state": "known" as const,
      "translated": {
        "dnat": true,
        "snat": true,
      },
      "zone": 1,
    }],
    "matched": 1,
  };
export const isFlowList1: FlowList = aFlowList1;

const aFlowList2 = {
    "bridged": [{
      "age_seconds": 1,
      "destination": "1f00c2aa" as const,
      "directions": {
        "original": {
          "bytes": 1,
          "encapsulation_in": "1f00c2aa" as const,
          "hook": "xdp" as const,
          "hop": 1,
          "longest": 1,
          "packets": 1,
          "port_in": "1f00c2aa" as const,
          "port_out": "1f00c2aa" as const,
          "proven": true,
          "ttl": {
            "highest": 1,
            "lowest": 1,
          },
        },
        "reply": {
          "bytes": 1,
          "encapsulation_in": "1f00c2aa" as const,
          "hook": "xdp" as const,
          "hop": 1,
          "longest": 1,
          "packets": 1,
          "port_in": "1f00c2aa" as const,
          "port_out": "1f00c2aa" as const,
          "proven": true,
          "ttl": {
            "highest": 1,
            "lowest": 1,
          },
        },
      },
      "reason": {
        "code": "1f00c2aa" as const,
        "hint": "1f00c2aa" as const,
        "text": "1f00c2aa" as const,
      },
      "source": "1f00c2aa" as const,
      "state": "declined" as const,
    }],
    "flows": [{
      "age_seconds": 1,
      "directions": {
        "original": {
          "bytes": 1,
          "encapsulation_in": "1f00c2aa" as const,
          "hook": "xdp" as const,
          "hop": 1,
          "longest": 1,
          "packets": 1,
          "port_in": "1f00c2aa" as const,
          "port_out": "1f00c2aa" as const,
          "proven": true,
          "ttl": {
            "highest": 1,
            "lowest": 1,
          },
        },
        "reply": {
          "bytes": 1,
          "encapsulation_in": "1f00c2aa" as const,
          "hook": "xdp" as const,
          "hop": 1,
          "longest": 1,
          "packets": 1,
          "port_in": "1f00c2aa" as const,
          "port_out": "1f00c2aa" as const,
          "proven": true,
          "ttl": {
            "highest": 1,
            "lowest": 1,
          },
        },
      },
      "id": "000000001f00c2aa" as const,
      "mark": 1,
      "original": {
        "destination": "192.0.2.1" as const,
        "destination_port": 1,
        "source": "192.0.2.1" as const,
        "source_port": 1,
      },
      "protocol": "tcp" as const,
      "reason": {
        "code": "1f00c2aa" as const,
        "hint": "1f00c2aa" as const,
        "text": "1f00c2aa" as const,
      },
      "reply": {
        "destination": "192.0.2.1" as const,
        "destination_port": 1,
        "source": "192.0.2.1" as const,
        "source_port": 1,
      },
      "state": "declined" as const,
      "translated": {
        "dnat": true,
        "snat": true,
      },
      "zone": 1,
    }],
    "matched": 1,
  };
export const isFlowList2: FlowList = aFlowList2;

const aFlowList3 = {
    "bridged": [{
      "age_seconds": 1,
      "destination": "1f00c2aa" as const,
      "directions": {
        "original": {
          "bytes": 1,
          "encapsulation_in": "1f00c2aa" as const,
          "hook": "tc" as const,
          "hop": 1,
          "longest": 1,
          "packets": 1,
          "port_in": "1f00c2aa" as const,
          "port_out": "1f00c2aa" as const,
          "proven": true,
          "ttl": {
            "highest": 1,
            "lowest": 1,
          },
        },
        "reply": {
          "bytes": 1,
          "encapsulation_in": "1f00c2aa" as const,
          "hook": "tc" as const,
          "hop": 1,
          "longest": 1,
          "packets": 1,
          "port_in": "1f00c2aa" as const,
          "port_out": "1f00c2aa" as const,
          "proven": true,
          "ttl": {
            "highest": 1,
            "lowest": 1,
          },
        },
      },
      "reason": {
        "code": "1f00c2aa" as const,
        "hint": "1f00c2aa" as const,
        "text": "1f00c2aa" as const,
      },
      "source": "1f00c2aa" as const,
      "state": "forwarded" as const,
    }],
    "flows": [{
      "age_seconds": 1,
      "directions": {
        "original": {
          "bytes": 1,
          "encapsulation_in": "1f00c2aa" as const,
          "hook": "tc" as const,
          "hop": 1,
          "longest": 1,
          "packets": 1,
          "port_in": "1f00c2aa" as const,
          "port_out": "1f00c2aa" as const,
          "proven": true,
          "ttl": {
            "highest": 1,
            "lowest": 1,
          },
        },
        "reply": {
          "bytes": 1,
          "encapsulation_in": "1f00c2aa" as const,
          "hook": "tc" as const,
          "hop": 1,
          "longest": 1,
          "packets": 1,
          "port_in": "1f00c2aa" as const,
          "port_out": "1f00c2aa" as const,
          "proven": true,
          "ttl": {
            "highest": 1,
            "lowest": 1,
          },
        },
      },
      "id": "000000001f00c2aa" as const,
      "mark": 1,
      "original": {
        "destination": "192.0.2.1" as const,
        "destination_port": 1,
        "source": "192.0.2.1" as const,
        "source_port": 1,
      },
      "protocol": "udp" as const,
      "reason": {
        "code": "1f00c2aa" as const,
        "hint": "1f00c2aa" as const,
        "text": "1f00c2aa" as const,
      },
      "reply": {
        "destination": "192.0.2.1" as const,
        "destination_port": 1,
        "source": "192.0.2.1" as const,
        "source_port": 1,
      },
      "state": "forwarded" as const,
      "translated": {
        "dnat": true,
        "snat": true,
      },
      "zone": 1,
    }],
    "matched": 1,
  };
export const isFlowList3: FlowList = aFlowList3;

const aFlowList4 = {
    "bridged": [{
      "age_seconds": 1,
      "destination": "1f00c2aa" as const,
      "directions": {
        "original": {
          "bytes": 1,
          "encapsulation_in": "1f00c2aa" as const,
          "hook": "xdp" as const,
          "hop": 1,
          "longest": 1,
          "packets": 1,
          "port_in": "1f00c2aa" as const,
          "port_out": "1f00c2aa" as const,
          "proven": true,
          "ttl": {
            "highest": 1,
            "lowest": 1,
          },
        },
        "reply": {
          "bytes": 1,
          "encapsulation_in": "1f00c2aa" as const,
          "hook": "xdp" as const,
          "hop": 1,
          "longest": 1,
          "packets": 1,
          "port_in": "1f00c2aa" as const,
          "port_out": "1f00c2aa" as const,
          "proven": true,
          "ttl": {
            "highest": 1,
            "lowest": 1,
          },
        },
      },
      "reason": {
        "code": "1f00c2aa" as const,
        "hint": "1f00c2aa" as const,
        "text": "1f00c2aa" as const,
      },
      "source": "1f00c2aa" as const,
      "state": "known" as const,
    }],
    "flows": [{
      "age_seconds": 1,
      "directions": {
        "original": {
          "bytes": 1,
          "encapsulation_in": "1f00c2aa" as const,
          "hook": "xdp" as const,
          "hop": 1,
          "longest": 1,
          "packets": 1,
          "port_in": "1f00c2aa" as const,
          "port_out": "1f00c2aa" as const,
          "proven": true,
          "ttl": {
            "highest": 1,
            "lowest": 1,
          },
        },
        "reply": {
          "bytes": 1,
          "encapsulation_in": "1f00c2aa" as const,
          "hook": "xdp" as const,
          "hop": 1,
          "longest": 1,
          "packets": 1,
          "port_in": "1f00c2aa" as const,
          "port_out": "1f00c2aa" as const,
          "proven": true,
          "ttl": {
            "highest": 1,
            "lowest": 1,
          },
        },
      },
      "id": "000000001f00c2aa" as const,
      "mark": 1,
      "original": {
        "destination": "192.0.2.1" as const,
        "destination_port": 1,
        "source": "192.0.2.1" as const,
        "source_port": 1,
      },
      "protocol": "tcp" as const,
      "reason": {
        "code": "1f00c2aa" as const,
        "hint": "1f00c2aa" as const,
        "text": "1f00c2aa" as const,
      },
      "reply": {
        "destination": "192.0.2.1" as const,
        "destination_port": 1,
        "source": "192.0.2.1" as const,
        "source_port": 1,
      },
      "state": "known" as const,
      "translated": {
        "dnat": true,
        "snat": true,
      },
      "zone": 1,
    }],
    "matched": 1,
  };
export const isFlowList4: FlowList = aFlowList4;

const aFlowList5 = {
    "bridged": [{
      "age_seconds": 1,
      "destination": "1f00c2aa" as const,
      "directions": {
        "original": {
          "bytes": 1,
          "encapsulation_in": "1f00c2aa" as const,
          "hook": "tc" as const,
          "hop": 1,
          "longest": 1,
          "packets": 1,
          "port_in": "1f00c2aa" as const,
          "port_out": "1f00c2aa" as const,
          "proven": true,
          "ttl": {
            "highest": 1,
            "lowest": 1,
          },
        },
        "reply": {
          "bytes": 1,
          "encapsulation_in": "1f00c2aa" as const,
          "hook": "tc" as const,
          "hop": 1,
          "longest": 1,
          "packets": 1,
          "port_in": "1f00c2aa" as const,
          "port_out": "1f00c2aa" as const,
          "proven": true,
          "ttl": {
            "highest": 1,
            "lowest": 1,
          },
        },
      },
      "reason": {
        "code": "1f00c2aa" as const,
        "hint": "1f00c2aa" as const,
        "text": "1f00c2aa" as const,
      },
      "source": "1f00c2aa" as const,
      "state": "declined" as const,
    }],
    "flows": [{
      "age_seconds": 1,
      "directions": {
        "original": {
          "bytes": 1,
          "encapsulation_in": "1f00c2aa" as const,
          "hook": "tc" as const,
          "hop": 1,
          "longest": 1,
          "packets": 1,
          "port_in": "1f00c2aa" as const,
          "port_out": "1f00c2aa" as const,
          "proven": true,
          "ttl": {
            "highest": 1,
            "lowest": 1,
          },
        },
        "reply": {
          "bytes": 1,
          "encapsulation_in": "1f00c2aa" as const,
          "hook": "tc" as const,
          "hop": 1,
          "longest": 1,
          "packets": 1,
          "port_in": "1f00c2aa" as const,
          "port_out": "1f00c2aa" as const,
          "proven": true,
          "ttl": {
            "highest": 1,
            "lowest": 1,
          },
        },
      },
      "id": "000000001f00c2aa" as const,
      "mark": 1,
      "original": {
        "destination": "192.0.2.1" as const,
        "destination_port": 1,
        "source": "192.0.2.1" as const,
        "source_port": 1,
      },
      "protocol": "udp" as const,
      "reason": {
        "code": "1f00c2aa" as const,
        "hint": "1f00c2aa" as const,
        "text": "1f00c2aa" as const,
      },
      "reply": {
        "destination": "192.0.2.1" as const,
        "destination_port": 1,
        "source": "192.0.2.1" as const,
        "source_port": 1,
      },
      "state": "declined" as const,
      "translated": {
        "dnat": true,
        "snat": true,
      },
      "zone": 1,
    }],
    "matched": 1,
  };
export const isFlowList5: FlowList = aFlowList5;

const aFlowList6 = {
    "bridged": [{
      "age_seconds": 1,
      "destination": "1f00c2aa" as const,
      "directions": {
        "original": {
          "bytes": 1,
          "packets": 1,
          "proven": true,
        },
        "reply": {
          "bytes": 1,
          "packets": 1,
          "proven": true,
        },
      },
      "source": "1f00c2aa" as const,
      "state": "forwarded" as const,
    }],
    "flows": [{
      "age_seconds": 1,
      "directions": {
        "original": {
          "bytes": 1,
          "packets": 1,
          "proven": true,
        },
        "reply": {
          "bytes": 1,
          "packets": 1,
          "proven": true,
        },
      },
      "id": "000000001f00c2aa" as const,
      "mark": 1,
      "original": {
        "destination": "192.0.2.1" as const,
        "destination_port": 1,
        "source": "192.0.2.1" as const,
        "source_port": 1,
      },
      "protocol": "tcp" as const,
      "reply": {
        "destination": "192.0.2.1" as const,
        "destination_port": 1,
        "source": "192.0.2.1" as const,
        "source_port": 1,
      },
      "state": "forwarded" as const,
      "translated": {
        "dnat": true,
        "snat": true,
      },
      "zone": 1,
    }],
    "matched": 1,
  };
export const isFlowList6: FlowList = aFlowList6;

const aFlowList7 = {
    "flows": [],
    "matched": 1,
  };
export const isFlowList7: FlowList = aFlowList7;

const aHistory0 = {
    "by": "1f00c2aa" as const,
    "offset_minutes": 1,
    "periods": [{
      "end": 1,
      "lan": {
        "received": {
          "bytes": 1,
          "packets": 1,
        },
        "sent": {
          "bytes": 1,
          "packets": 1,
        },
      },
      "parts": [{
        "key": "1f00c2aa" as const,
        "lan": {
          "received": {
            "bytes": 1,
            "packets": 1,
          },
          "sent": {
            "bytes": 1,
            "packets": 1,
          },
        },
        "name": "1f00c2aa" as const,
        "received": {
          "bytes": 1,
          "packets": 1,
        },
        "sent": {
          "bytes": 1,
          "packets": 1,
        },
      }],
      "received": {
        "bytes": 1,
        "packets": 1,
      },
      "sent": {
        "bytes": 1,
        "packets": 1,
      },
      "start": 1,
    }],
    "unit": "1f00c2aa" as const,
  };
export const isHistory0: History = aHistory0;

const aHistory1 = {
    "by": "1f00c2aa" as const,
    "offset_minutes": 1,
    "periods": [{
      "end": 1,
      "lan": {
        "received": {
          "bytes": 1,
          "packets": 1,
        },
        "sent": {
          "bytes": 1,
          "packets": 1,
        },
      },
      "parts": [{
        "key": "1f00c2aa" as const,
        "lan": {
          "received": {
            "bytes": 1,
            "packets": 1,
          },
          "sent": {
            "bytes": 1,
            "packets": 1,
          },
        },
        "received": {
          "bytes": 1,
          "packets": 1,
        },
        "sent": {
          "bytes": 1,
          "packets": 1,
        },
      }],
      "received": {
        "bytes": 1,
        "packets": 1,
      },
      "sent": {
        "bytes": 1,
        "packets": 1,
      },
      "start": 1,
    }],
    "unit": "1f00c2aa" as const,
  };
export const isHistory1: History = aHistory1;

const aHistory2 = {
    "by": "1f00c2aa" as const,
    "offset_minutes": 1,
    "periods": [],
    "unit": "1f00c2aa" as const,
  };
export const isHistory2: History = aHistory2;

const aHop0 = {
    "destination": "1f00c2aa" as const,
    "device": "1f00c2aa" as const,
    "encapsulation": "1f00c2aa" as const,
    "epoch": 1,
    "ethertype": 1,
    "flows": 1,
    "header": "1f00c2aa" as const,
    "index": 1,
    "source": "1f00c2aa" as const,
    "xdp": true,
  };
export const isHop0: Hop = aHop0;

const aHop1 = {
    "device": "1f00c2aa" as const,
    "epoch": 1,
    "flows": 1,
    "header": "1f00c2aa" as const,
    "index": 1,
    "xdp": true,
  };
export const isHop1: Hop = aHop1;

const aConversations0 = {
    "conversations": [{
      "application": "1f00c2aa" as const,
      "behind": "1f00c2aa" as const,
      "device": "1f00c2aa" as const,
      "first_seen": 1,
      "hook": "xdp" as const,
      "id": 1,
      "lan": true,
      "last_seen": 1,
      "latency": {
        "bufferbloat": "1f00c2aa" as const,
        "growth": 0.5,
        "lan": 0.5,
        "lan_min": 0.5,
        "retransmissions": 1,
        "wan": 0.5,
        "wan_min": 0.5,
      },
      "mac": "1f00c2aa" as const,
      "outside": true,
      "port": "1f00c2aa" as const,
      "protocol": "tcp" as const,
      "protocol_number": 1,
      "rate": {
        "received": 1,
        "sent": 1,
      },
      "received": {
        "bytes": 1,
        "packets": 1,
      },
      "remote": "1f00c2aa" as const,
      "remote_name": "1f00c2aa" as const,
      "remote_port": 1,
      "sent": {
        "bytes": 1,
        "packets": 1,
      },
      "station": "1f00c2aa" as const,
      "station_port": 1,
      "translated": "1f00c2aa" as const,
      "uplink": "1f00c2aa" as const,
      "vlan": 1,
    }],
    "total": 1,
  };
export const isConversations0: Conversations = aConversations0;

const aConversations1 = {
    "conversations": [{
      "application": "1f00c2aa" as const,
      "behind": "1f00c2aa" as const,
      "device": "1f00c2aa" as const,
      "first_seen": 1,
      "hook": "tc" as const,
      "id": 1,
      "lan": true,
      "last_seen": 1,
      "latency": {
        "bufferbloat": "1f00c2aa" as const,
        "growth": 0.5,
        "lan": 0.5,
        "lan_min": 0.5,
        "retransmissions": 1,
        "wan": 0.5,
        "wan_min": 0.5,
      },
      "mac": "1f00c2aa" as const,
      "outside": true,
      "port": "1f00c2aa" as const,
      "protocol": "udp" as const,
      "protocol_number": 1,
      "rate": {
        "received": 1,
        "sent": 1,
      },
      "received": {
        "bytes": 1,
        "packets": 1,
      },
      "remote": "1f00c2aa" as const,
      "remote_name": "1f00c2aa" as const,
      "remote_port": 1,
      "sent": {
        "bytes": 1,
        "packets": 1,
      },
      "station": "1f00c2aa" as const,
      "station_port": 1,
      "translated": "1f00c2aa" as const,
      "uplink": "1f00c2aa" as const,
      "vlan": 1,
    }],
    "total": 1,
  };
export const isConversations1: Conversations = aConversations1;

const aConversations2 = {
    "conversations": [{
      "first_seen": 1,
      "id": 1,
      "lan": true,
      "last_seen": 1,
      "mac": "1f00c2aa" as const,
      "outside": true,
      "port": "1f00c2aa" as const,
      "protocol_number": 1,
      "rate": {
        "received": 1,
        "sent": 1,
      },
      "received": {
        "bytes": 1,
        "packets": 1,
      },
      "remote": "1f00c2aa" as const,
      "remote_port": 1,
      "sent": {
        "bytes": 1,
        "packets": 1,
      },
      "station": "1f00c2aa" as const,
      "station_port": 1,
    }],
    "total": 1,
  };
export const isConversations2: Conversations = aConversations2;

const aConversations3 = {
    "conversations": [],
    "total": 1,
  };
export const isConversations3: Conversations = aConversations3;

const aPaths0 = {
    "connections": {
      "all": 1,
      "clear": 1,
      "direct": 1,
      "open": 1,
      "received": 1,
      "refused": 1,
      "sent": 1,
    },
    "exposed": ["tcp" as const],
    "forwards": [{
      "granted": true,
      "ports": "1f00c2aa" as const,
      "to": "1f00c2aa" as const,
    }],
    "keyless": "1f00c2aa" as const,
    "locked": true,
    "partner": "1f00c2aa" as const,
    "partners": [{
      "in_use": true,
      "partner": "1f00c2aa" as const,
      "problem": "1f00c2aa" as const,
      "reached": true,
    }],
    "paths": [{
      "address": "192.0.2.1" as const,
      "answers": true,
      "backup": true,
      "device": "1f00c2aa" as const,
      "fell_back": 1,
      "gateway": "192.0.2.1" as const,
      "in_use": true,
      "received": 1,
      "rests": true,
      "retransmitted": 1,
      "rtt": 1,
      "sent": 1,
      "strips": true,
      "subflows": 1,
      "tunnel_received": 1,
      "tunnel_sent": 1,
      "use": "always" as const,
    }],
    "problem": "1f00c2aa" as const,
    "redirects": true,
    "state": "off" as const,
    "stops": true,
    "tunnel": true,
    "twins": [{
      "address": "192.0.2.1" as const,
      "device": "1f00c2aa" as const,
      "of": "1f00c2aa" as const,
    }],
    "unmatched": ["1f00c2aa" as const],
    "version": "1f00c2aa" as const,
  };
export const isPaths0: Paths = aPaths0;

const aPaths1 = {
    "connections": {
      "all": 1,
      "clear": 1,
      "direct": 1,
      "open": 1,
      "received": 1,
      "refused": 1,
      "sent": 1,
    },
    "exposed": ["tcp-ipv6" as const],
    "forwards": [{
      "granted": true,
      "ports": "1f00c2aa" as const,
      "to": "1f00c2aa" as const,
    }],
    "keyless": "1f00c2aa" as const,
    "locked": true,
    "partner": "1f00c2aa" as const,
    "partners": [{
      "in_use": true,
      "partner": "1f00c2aa" as const,
      "problem": "1f00c2aa" as const,
      "reached": true,
    }],
    "paths": [{
      "address": "192.0.2.1" as const,
      "answers": true,
      "backup": true,
      "device": "1f00c2aa" as const,
      "fell_back": 1,
      "gateway": "192.0.2.1" as const,
      "in_use": true,
      "received": 1,
      "rests": true,
      "retransmitted": 1,
      "rtt": 1,
      "sent": 1,
      "strips": true,
      "subflows": 1,
      "tunnel_received": 1,
      "tunnel_sent": 1,
      "use": "metered" as const,
    }],
    "problem": "1f00c2aa" as const,
    "redirects": true,
    "state": "connecting" as const,
    "stops": true,
    "tunnel": true,
    "twins": [{
      "address": "192.0.2.1" as const,
      "device": "1f00c2aa" as const,
      "of": "1f00c2aa" as const,
    }],
    "unmatched": ["1f00c2aa" as const],
    "version": "1f00c2aa" as const,
  };
export const isPaths1: Paths = aPaths1;

const aPaths2 = {
    "connections": {
      "all": 1,
      "clear": 1,
      "direct": 1,
      "open": 1,
      "received": 1,
      "refused": 1,
      "sent": 1,
    },
    "exposed": ["others" as const],
    "forwards": [{
      "granted": true,
      "ports": "1f00c2aa" as const,
      "to": "1f00c2aa" as const,
    }],
    "keyless": "1f00c2aa" as const,
    "locked": true,
    "partner": "1f00c2aa" as const,
    "partners": [{
      "in_use": true,
      "partner": "1f00c2aa" as const,
      "problem": "1f00c2aa" as const,
      "reached": true,
    }],
    "paths": [{
      "address": "192.0.2.1" as const,
      "answers": true,
      "backup": true,
      "device": "1f00c2aa" as const,
      "fell_back": 1,
      "gateway": "192.0.2.1" as const,
      "in_use": true,
      "received": 1,
      "rests": true,
      "retransmitted": 1,
      "rtt": 1,
      "sent": 1,
      "strips": true,
      "subflows": 1,
      "tunnel_received": 1,
      "tunnel_sent": 1,
      "use": "backup" as const,
    }],
    "problem": "1f00c2aa" as const,
    "redirects": true,
    "state": "connected" as const,
    "stops": true,
    "tunnel": true,
    "twins": [{
      "address": "192.0.2.1" as const,
      "device": "1f00c2aa" as const,
      "of": "1f00c2aa" as const,
    }],
    "unmatched": ["1f00c2aa" as const],
    "version": "1f00c2aa" as const,
  };
export const isPaths2: Paths = aPaths2;

const aPaths3 = {
    "connections": {
      "all": 1,
      "clear": 1,
      "direct": 1,
      "open": 1,
      "received": 1,
      "refused": 1,
      "sent": 1,
    },
    "exposed": ["others-ipv6" as const],
    "forwards": [{
      "granted": true,
      "ports": "1f00c2aa" as const,
      "to": "1f00c2aa" as const,
    }],
    "keyless": "1f00c2aa" as const,
    "locked": true,
    "partner": "1f00c2aa" as const,
    "partners": [{
      "in_use": true,
      "partner": "1f00c2aa" as const,
      "problem": "1f00c2aa" as const,
      "reached": true,
    }],
    "paths": [{
      "address": "192.0.2.1" as const,
      "answers": true,
      "backup": true,
      "device": "1f00c2aa" as const,
      "fell_back": 1,
      "gateway": "192.0.2.1" as const,
      "in_use": true,
      "received": 1,
      "rests": true,
      "retransmitted": 1,
      "rtt": 1,
      "sent": 1,
      "strips": true,
      "subflows": 1,
      "tunnel_received": 1,
      "tunnel_sent": 1,
      "use": "never" as const,
    }],
    "problem": "1f00c2aa" as const,
    "redirects": true,
    "state": "failed" as const,
    "stops": true,
    "tunnel": true,
    "twins": [{
      "address": "192.0.2.1" as const,
      "device": "1f00c2aa" as const,
      "of": "1f00c2aa" as const,
    }],
    "unmatched": ["1f00c2aa" as const],
    "version": "1f00c2aa" as const,
  };
export const isPaths3: Paths = aPaths3;

const aPaths4 = {
    "connections": {
      "all": 1,
      "clear": 1,
      "direct": 1,
      "open": 1,
      "received": 1,
      "refused": 1,
      "sent": 1,
    },
    "exposed": ["chosen" as const],
    "forwards": [{
      "granted": true,
      "ports": "1f00c2aa" as const,
      "to": "1f00c2aa" as const,
    }],
    "keyless": "1f00c2aa" as const,
    "locked": true,
    "partner": "1f00c2aa" as const,
    "partners": [{
      "in_use": true,
      "partner": "1f00c2aa" as const,
      "problem": "1f00c2aa" as const,
      "reached": true,
    }],
    "paths": [{
      "address": "192.0.2.1" as const,
      "answers": true,
      "backup": true,
      "device": "1f00c2aa" as const,
      "fell_back": 1,
      "gateway": "192.0.2.1" as const,
      "in_use": true,
      "received": 1,
      "rests": true,
      "retransmitted": 1,
      "rtt": 1,
      "sent": 1,
      "strips": true,
      "subflows": 1,
      "tunnel_received": 1,
      "tunnel_sent": 1,
      "use": "always" as const,
    }],
    "problem": "1f00c2aa" as const,
    "redirects": true,
    "state": "off" as const,
    "stops": true,
    "tunnel": true,
    "twins": [{
      "address": "192.0.2.1" as const,
      "device": "1f00c2aa" as const,
      "of": "1f00c2aa" as const,
    }],
    "unmatched": ["1f00c2aa" as const],
    "version": "1f00c2aa" as const,
  };
export const isPaths4: Paths = aPaths4;

const aPaths5 = {
    "connections": {
      "all": 1,
      "clear": 1,
      "direct": 1,
      "open": 1,
      "received": 1,
      "refused": 1,
      "sent": 1,
    },
    "exposed": ["tls-names" as const],
    "forwards": [{
      "granted": true,
      "ports": "1f00c2aa" as const,
      "to": "1f00c2aa" as const,
    }],
    "keyless": "1f00c2aa" as const,
    "locked": true,
    "partner": "1f00c2aa" as const,
    "partners": [{
      "in_use": true,
      "partner": "1f00c2aa" as const,
      "problem": "1f00c2aa" as const,
      "reached": true,
    }],
    "paths": [{
      "address": "192.0.2.1" as const,
      "answers": true,
      "backup": true,
      "device": "1f00c2aa" as const,
      "fell_back": 1,
      "gateway": "192.0.2.1" as const,
      "in_use": true,
      "received": 1,
      "rests": true,
      "retransmitted": 1,
      "rtt": 1,
      "sent": 1,
      "strips": true,
      "subflows": 1,
      "tunnel_received": 1,
      "tunnel_sent": 1,
      "use": "metered" as const,
    }],
    "problem": "1f00c2aa" as const,
    "redirects": true,
    "state": "connecting" as const,
    "stops": true,
    "tunnel": true,
    "twins": [{
      "address": "192.0.2.1" as const,
      "device": "1f00c2aa" as const,
      "of": "1f00c2aa" as const,
    }],
    "unmatched": ["1f00c2aa" as const],
    "version": "1f00c2aa" as const,
  };
export const isPaths5: Paths = aPaths5;

const aPaths6 = {
    "connections": {
      "all": 1,
      "clear": 1,
      "direct": 1,
      "open": 1,
      "received": 1,
      "refused": 1,
      "sent": 1,
    },
    "exposed": ["tcp" as const],
    "forwards": [{
      "ports": "1f00c2aa" as const,
      "to": "1f00c2aa" as const,
    }],
    "locked": true,
    "partners": [{
      "in_use": true,
      "partner": "1f00c2aa" as const,
    }],
    "paths": [{
      "address": "192.0.2.1" as const,
      "backup": true,
      "device": "1f00c2aa" as const,
      "fell_back": 1,
      "in_use": true,
      "received": 1,
      "rests": true,
      "retransmitted": 1,
      "sent": 1,
      "strips": true,
      "subflows": 1,
      "tunnel_received": 1,
      "tunnel_sent": 1,
      "use": "always" as const,
    }],
    "redirects": true,
    "state": "off" as const,
    "stops": true,
    "tunnel": true,
    "twins": [{
      "address": "192.0.2.1" as const,
      "device": "1f00c2aa" as const,
      "of": "1f00c2aa" as const,
    }],
    "unmatched": ["1f00c2aa" as const],
  };
export const isPaths6: Paths = aPaths6;

const aPaths7 = {
    "connections": {
      "all": 1,
      "clear": 1,
      "direct": 1,
      "open": 1,
      "received": 1,
      "refused": 1,
      "sent": 1,
    },
    "locked": true,
    "paths": [],
    "redirects": true,
    "state": "off" as const,
    "stops": true,
    "tunnel": true,
  };
export const isPaths7: Paths = aPaths7;

const aPortalClients0 = {
    "clients": [{
      "account": "1f00c2aa" as const,
      "addresses": ["192.0.2.1" as const],
      "bytes_remaining": 1,
      "mac": "1f00c2aa" as const,
      "next": ["1f00c2aa" as const],
      "other_browser": 1,
      "seconds_remaining": 1,
      "state": "waiting" as const,
      "voucher": "1f00c2aa" as const,
    }],
    "hours": {
      "mode": "vouchers" as const,
      "seconds": 1,
    },
  };
export const isPortalClients0: PortalClients = aPortalClients0;

const aPortalClients1 = {
    "clients": [{
      "account": "1f00c2aa" as const,
      "addresses": ["192.0.2.1" as const],
      "bytes_remaining": 1,
      "mac": "1f00c2aa" as const,
      "next": ["1f00c2aa" as const],
      "other_browser": 1,
      "seconds_remaining": 1,
      "state": "admitted" as const,
      "voucher": "1f00c2aa" as const,
    }],
    "hours": {
      "mode": "closed" as const,
      "seconds": 1,
    },
  };
export const isPortalClients1: PortalClients = aPortalClients1;

const aPortalClients2 = {
    "clients": [{
      "account": "1f00c2aa" as const,
      "addresses": ["192.0.2.1" as const],
      "bytes_remaining": 1,
      "mac": "1f00c2aa" as const,
      "next": ["1f00c2aa" as const],
      "other_browser": 1,
      "seconds_remaining": 1,
      "state": "free" as const,
      "voucher": "1f00c2aa" as const,
    }],
    "hours": {
      "mode": "open" as const,
      "seconds": 1,
    },
  };
export const isPortalClients2: PortalClients = aPortalClients2;

const aPortalClients3 = {
    "clients": [{
      "account": "1f00c2aa" as const,
      "addresses": ["192.0.2.1" as const],
      "bytes_remaining": 1,
      "mac": "1f00c2aa" as const,
      "next": ["1f00c2aa" as const],
      "other_browser": 1,
      "seconds_remaining": 1,
      "state": "exempt" as const,
      "voucher": "1f00c2aa" as const,
    }],
    "hours": {
      "mode": "vouchers" as const,
      "seconds": 1,
    },
  };
export const isPortalClients3: PortalClients = aPortalClients3;

const aPortalClients4 = {
    "clients": [{
      "account": "1f00c2aa" as const,
      "addresses": ["192.0.2.1" as const],
      "bytes_remaining": 1,
      "mac": "1f00c2aa" as const,
      "next": ["1f00c2aa" as const],
      "other_browser": 1,
      "seconds_remaining": 1,
      "state": "waiting" as const,
      "voucher": "1f00c2aa" as const,
    }],
    "hours": {
      "mode": "closed" as const,
      "seconds": 1,
    },
  };
export const isPortalClients4: PortalClients = aPortalClients4;

const aPortalClients5 = {
    "clients": [{
      "account": "1f00c2aa" as const,
      "addresses": ["192.0.2.1" as const],
      "bytes_remaining": 1,
      "mac": "1f00c2aa" as const,
      "next": ["1f00c2aa" as const],
      "other_browser": 1,
      "seconds_remaining": 1,
      "state": "admitted" as const,
      "voucher": "1f00c2aa" as const,
    }],
    "hours": {
      "mode": "open" as const,
      "seconds": 1,
    },
  };
export const isPortalClients5: PortalClients = aPortalClients5;

const aPortalClients6 = {
    "clients": [{
      "account": null,
      "addresses": ["192.0.2.1" as const],
      "bytes_remaining": null,
      "mac": "1f00c2aa" as const,
      "next": ["1f00c2aa" as const],
      "other_browser": null,
      "seconds_remaining": null,
      "state": "waiting" as const,
      "voucher": null,
    }],
    "hours": {
      "mode": "vouchers" as const,
      "seconds": null,
    },
  };
export const isPortalClients6: PortalClients = aPortalClients6;

const aPortalClients7 = {
    "clients": [],
    "hours": {
      "mode": "vouchers" as const,
      "seconds": null,
    },
  };
export const isPortalClients7: PortalClients = aPortalClients7;

const aPortalFigures0 = {
    "days": [{
      "bytes": 1,
      "day": "1f00c2aa" as const,
      "guests": 1,
      "log_ins": 1,
      "seconds": 1,
      "sold": 1,
    }],
  };
export const isPortalFigures0: PortalFigures = aPortalFigures0;

const aPortalFigures1 = {
    "days": [],
  };
export const isPortalFigures1: PortalFigures = aPortalFigures1;

const aPortalPage0 = {
    "edited": true,
    "picture": {
      "bytes": 1,
      "height": 1,
      "media": "1f00c2aa" as const,
      "version": 1,
      "width": 1,
    },
    "text": "1f00c2aa" as const,
    "title": "1f00c2aa" as const,
  };
export const isPortalPage0: PortalPage = aPortalPage0;

const aPortalPage1 = {
    "edited": true,
    "picture": null,
    "text": "1f00c2aa" as const,
    "title": "1f00c2aa" as const,
  };
export const isPortalPage1: PortalPage = aPortalPage1;

const aPortalVoucher0 = {
    "activated": 1,
    "bytes": 1,
    "bytes_remaining": 1,
    "code": "1f00c2aa" as const,
    "created": 1,
    "devices": 1,
    "double_use": {
      "how": "1f00c2aa" as const,
      "nodes": ["1f00c2aa" as const, "1f00c2aa" as const],
    },
    "duration": 1,
    "former": "1f00c2aa" as const,
    "id": "1f00c2aa" as const,
    "name": "1f00c2aa" as const,
    "online": true,
    "qr": {
      "path": "1f00c2aa" as const,
      "side": 1,
    },
    "rate": 1,
    "revoked": 1,
    "seconds_remaining": 1,
    "signed": "1f00c2aa" as const,
    "sold_by": "1f00c2aa" as const,
    "state": "1f00c2aa" as const,
    "until": 1,
    "users": ["1f00c2aa" as const],
  };
export const isPortalVoucher0: PortalVoucher = aPortalVoucher0;

const aPortalVoucher1 = {
    "activated": null,
    "bytes": null,
    "bytes_remaining": null,
    "code": "1f00c2aa" as const,
    "created": 1,
    "devices": 1,
    "double_use": null,
    "duration": null,
    "id": "1f00c2aa" as const,
    "name": "1f00c2aa" as const,
    "online": true,
    "rate": null,
    "revoked": null,
    "seconds_remaining": null,
    "sold_by": null,
    "state": "1f00c2aa" as const,
    "until": null,
    "users": ["1f00c2aa" as const],
  };
export const isPortalVoucher1: PortalVoucher = aPortalVoucher1;

const aPortalVoucher2 = {
    "activated": null,
    "bytes": null,
    "bytes_remaining": null,
    "code": "1f00c2aa" as const,
    "created": 1,
    "devices": 1,
    "double_use": null,
    "duration": null,
    "id": "1f00c2aa" as const,
    "name": "1f00c2aa" as const,
    "online": true,
    "rate": null,
    "revoked": null,
    "seconds_remaining": null,
    "sold_by": null,
    "state": "1f00c2aa" as const,
    "until": null,
    "users": [],
  };
export const isPortalVoucher2: PortalVoucher = aPortalVoucher2;

const aRadios0 = {
    "mode": "1f00c2aa" as const,
    "radios": [{
      "device": "1f00c2aa" as const,
      "max_dbm": 1,
      "power_dbm": 1,
      "reason": "1f00c2aa" as const,
      "stations": [{
        "ack_signal": 1,
        "decision": "1f00c2aa" as const,
        "expected_mbit": 0.5,
        "mac": "1f00c2aa" as const,
        "power_dbm": 1,
        "signal": 1,
        "silent_ms": 1,
        "throughput_mbit": 0.5,
      }],
      "sufficient_dbm": 1,
      "trouble": "1f00c2aa" as const,
    }],
  };
export const isRadios0: Radios = aRadios0;

const aRadios1 = {
    "mode": "1f00c2aa" as const,
    "radios": [{
      "device": "1f00c2aa" as const,
      "max_dbm": 1,
      "power_dbm": null,
      "reason": "1f00c2aa" as const,
      "stations": [{
        "ack_signal": null,
        "decision": null,
        "expected_mbit": null,
        "mac": "1f00c2aa" as const,
        "power_dbm": null,
        "signal": null,
        "silent_ms": null,
        "throughput_mbit": null,
      }],
      "sufficient_dbm": null,
    }],
  };
export const isRadios1: Radios = aRadios1;

const aRadios2 = {
    "mode": "1f00c2aa" as const,
    "radios": [],
  };
export const isRadios2: Radios = aRadios2;

const aRadioLog0 = {
    "logs": [{
      "device": "1f00c2aa" as const,
      "now_ms": 1,
      "steps": [{
        "at_ms": 1,
        "power_dbm": 1,
        "rate_mbit": 0.5,
        "reason": "1f00c2aa" as const,
        "reference_mbit": 0.5,
        "station": "1f00c2aa" as const,
        "throughput_mbit": 0.5,
      }],
    }],
  };
export const isRadioLog0: RadioLog = aRadioLog0;

const aRadioLog1 = {
    "logs": [{
      "device": "1f00c2aa" as const,
      "now_ms": 1,
      "steps": [{
        "at_ms": 1,
        "power_dbm": 1,
        "rate_mbit": null,
        "reason": "1f00c2aa" as const,
        "reference_mbit": null,
        "station": null,
        "throughput_mbit": null,
      }],
    }],
  };
export const isRadioLog1: RadioLog = aRadioLog1;

const aRadioLog2 = {
    "logs": [],
  };
export const isRadioLog2: RadioLog = aRadioLog2;

const aRadioPeers0 = {
    "device": "1f00c2aa" as const,
    "notices": ["1f00c2aa" as const],
    "peers": [{
      "address": "1f00c2aa" as const,
      "clear": true,
      "encrypted": true,
      "expected_mbit": 0.5,
      "interface": "1f00c2aa" as const,
      "peer_seconds": 1,
      "signal": 1,
      "state": "1f00c2aa" as const,
      "waits": "1f00c2aa" as const,
    }],
  };
export const isRadioPeers0: RadioPeers = aRadioPeers0;

const aRadioPeers1 = {
    "device": "1f00c2aa" as const,
    "notices": ["1f00c2aa" as const],
    "peers": [{
      "address": "1f00c2aa" as const,
      "clear": true,
      "encrypted": true,
      "expected_mbit": null,
      "interface": "1f00c2aa" as const,
      "peer_seconds": null,
      "signal": null,
      "state": "1f00c2aa" as const,
      "waits": null,
    }],
  };
export const isRadioPeers1: RadioPeers = aRadioPeers1;

const aRadioPeers2 = {
    "device": "1f00c2aa" as const,
    "notices": [],
    "peers": [],
  };
export const isRadioPeers2: RadioPeers = aRadioPeers2;

const aSetup0 = {
    "choices": {
      "dns": {
        "server": "provider" as const,
        "servers": ["1f00c2aa" as const],
      },
      "firewall": {
        "blocked": [{
          "mac": "1f00c2aa" as const,
          "name": "1f00c2aa" as const,
        }],
        "forwards": [{
          "name": "1f00c2aa" as const,
          "port": "1f00c2aa" as const,
          "protocol": "tcp" as const,
          "to": "1f00c2aa" as const,
          "to_port": "1f00c2aa" as const,
        }],
      },
      "format": 1,
      "internet": {
        "address": "1f00c2aa" as const,
        "apn": "1f00c2aa" as const,
        "dns": ["1f00c2aa" as const],
        "gateway": "1f00c2aa" as const,
        "ipv6": true,
        "key": "1f00c2aa" as const,
        "kind": "dhcp" as const,
        "modem": "1f00c2aa" as const,
        "password": "1f00c2aa" as const,
        "pin": "1f00c2aa" as const,
        "port": "1f00c2aa" as const,
        "radio": "1f00c2aa" as const,
        "service": "1f00c2aa" as const,
        "ssid": "1f00c2aa" as const,
        "username": "1f00c2aa" as const,
        "vlan": 1,
      },
      "lan": {
        "address": "1f00c2aa" as const,
        "count": 1,
        "dhcp": true,
        "first": 1,
        "lease": "1f00c2aa" as const,
        "ports": ["1f00c2aa" as const],
      },
      "mesh": {
        "channel": 1,
        "country": "1f00c2aa" as const,
        "gateway": true,
        "key": "1f00c2aa" as const,
        "kind": "none" as const,
        "name": "1f00c2aa" as const,
        "radios": ["1f00c2aa" as const],
      },
      "openvpn": {
        "clients": [{
          "name": "1f00c2aa" as const,
        }],
        "endpoint": "1f00c2aa" as const,
        "network": "1f00c2aa" as const,
        "on": true,
        "port": 1,
      },
      "router": {
        "language": "1f00c2aa" as const,
        "name": "1f00c2aa" as const,
        "password": "1f00c2aa" as const,
        "password_hash": "1f00c2aa" as const,
        "place": ["1f00c2aa" as const, "1f00c2aa" as const],
        "timezone": "1f00c2aa" as const,
      },
      "wifi": {
        "country": "1f00c2aa" as const,
        "networks": [{
          "for": "lan" as const,
          "hidden": true,
          "key": "1f00c2aa" as const,
          "radios": ["1f00c2aa" as const],
          "roaming": true,
          "security": "mixed" as const,
          "ssid": "1f00c2aa" as const,
        }],
      },
      "wireguard": {
        "address": "1f00c2aa" as const,
        "clients": [{
          "address": "1f00c2aa" as const,
          "name": "1f00c2aa" as const,
          "preshared_key": "1f00c2aa" as const,
          "public_key": "1f00c2aa" as const,
        }],
        "endpoint": "1f00c2aa" as const,
        "on": true,
        "port": 1,
        "private_key": "1f00c2aa" as const,
      },
    },
    "kept": ["1f00c2aa" as const],
    "model": "1f00c2aa" as const,
    "pending": {
      "files": ["1f00c2aa" as const],
      "left": 1,
      "lines": ["1f00c2aa" as const],
      "number": 1,
      "when": 1,
      "who": "1f00c2aa" as const,
      "why": "1f00c2aa" as const,
    },
    "ports": ["1f00c2aa" as const],
    "radios": [{
      "apup": true,
      "bands": ["1f00c2aa" as const],
      "mesh": true,
      "name": "1f00c2aa" as const,
      "wpa3": true,
    }],
    "reach": {
      "says": "1f00c2aa" as const,
      "way": "reached" as const,
      "whom": "1f00c2aa" as const,
    },
    "release": {
      "known": true,
      "name": "1f00c2aa" as const,
      "version": "1f00c2aa" as const,
    },
    "states": [{
      "files": ["1f00c2aa" as const],
      "left": 1,
      "lines": ["1f00c2aa" as const],
      "number": 1,
      "when": 1,
      "who": "1f00c2aa" as const,
      "why": "1f00c2aa" as const,
    }],
    "undone": {
      "files": ["1f00c2aa" as const],
      "left": 1,
      "lines": ["1f00c2aa" as const],
      "number": 1,
      "when": 1,
      "who": "1f00c2aa" as const,
      "why": "1f00c2aa" as const,
    },
  };
export const isSetup0: Setup = aSetup0;

const aSetup1 = {
    "choices": {
      "dns": {
        "server": "own" as const,
        "servers": ["1f00c2aa" as const],
      },
      "firewall": {
        "blocked": [{
          "mac": "1f00c2aa" as const,
          "name": "1f00c2aa" as const,
        }],
        "forwards": [{
          "name": "1f00c2aa" as const,
          "port": "1f00c2aa" as const,
          "protocol": "udp" as const,
          "to": "1f00c2aa" as const,
          "to_port": "1f00c2aa" as const,
        }],
      },
      "format": 1,
      "internet": {
        "address": "1f00c2aa" as const,
        "apn": "1f00c2aa" as const,
        "dns": ["1f00c2aa" as const],
        "gateway": "1f00c2aa" as const,
        "ipv6": true,
        "key": "1f00c2aa" as const,
        "kind": "static" as const,
        "modem": "1f00c2aa" as const,
        "password": "1f00c2aa" as const,
        "pin": "1f00c2aa" as const,
        "port": "1f00c2aa" as const,
        "radio": "1f00c2aa" as const,
        "service": "1f00c2aa" as const,
        "ssid": "1f00c2aa" as const,
        "username": "1f00c2aa" as const,
        "vlan": 1,
      },
      "lan": {
        "address": "1f00c2aa" as const,
        "count": 1,
        "dhcp": true,
        "first": 1,
        "lease": "1f00c2aa" as const,
        "ports": ["1f00c2aa" as const],
      },
      "mesh": {
        "channel": 1,
        "country": "1f00c2aa" as const,
        "gateway": true,
        "key": "1f00c2aa" as const,
        "kind": "batman" as const,
        "name": "1f00c2aa" as const,
        "radios": ["1f00c2aa" as const],
      },
      "openvpn": {
        "clients": [{
          "name": "1f00c2aa" as const,
        }],
        "endpoint": "1f00c2aa" as const,
        "network": "1f00c2aa" as const,
        "on": true,
        "port": 1,
      },
      "router": {
        "language": "1f00c2aa" as const,
        "name": "1f00c2aa" as const,
        "password": "1f00c2aa" as const,
        "password_hash": "1f00c2aa" as const,
        "place": ["1f00c2aa" as const, "1f00c2aa" as const],
        "timezone": "1f00c2aa" as const,
      },
      "wifi": {
        "country": "1f00c2aa" as const,
        "networks": [{
          "for": "guest" as const,
          "hidden": true,
          "key": "1f00c2aa" as const,
          "radios": ["1f00c2aa" as const],
          "roaming": true,
          "security": "wpa3" as const,
          "ssid": "1f00c2aa" as const,
        }],
      },
      "wireguard": {
        "address": "1f00c2aa" as const,
        "clients": [{
          "address": "1f00c2aa" as const,
          "name": "1f00c2aa" as const,
          "preshared_key": "1f00c2aa" as const,
          "public_key": "1f00c2aa" as const,
        }],
        "endpoint": "1f00c2aa" as const,
        "on": true,
        "port": 1,
        "private_key": "1f00c2aa" as const,
      },
    },
    "kept": ["1f00c2aa" as const],
    "model": "1f00c2aa" as const,
    "pending": {
      "files": ["1f00c2aa" as const],
      "left": 1,
      "lines": ["1f00c2aa" as const],
      "number": 1,
      "when": 1,
      "who": "1f00c2aa" as const,
      "why": "1f00c2aa" as const,
    },
    "ports": ["1f00c2aa" as const],
    "radios": [{
      "apup": true,
      "bands": ["1f00c2aa" as const],
      "mesh": true,
      "name": "1f00c2aa" as const,
      "wpa3": true,
    }],
    "reach": {
      "says": "1f00c2aa" as const,
      "way": "no-route" as const,
      "whom": "1f00c2aa" as const,
    },
    "release": {
      "known": true,
      "name": "1f00c2aa" as const,
      "version": "1f00c2aa" as const,
    },
    "states": [{
      "files": ["1f00c2aa" as const],
      "left": 1,
      "lines": ["1f00c2aa" as const],
      "number": 1,
      "when": 1,
      "who": "1f00c2aa" as const,
      "why": "1f00c2aa" as const,
    }],
    "undone": {
      "files": ["1f00c2aa" as const],
      "left": 1,
      "lines": ["1f00c2aa" as const],
      "number": 1,
      "when": 1,
      "who": "1f00c2aa" as const,
      "why": "1f00c2aa" as const,
    },
  };
export const isSetup1: Setup = aSetup1;

const aSetup2 = {
    "choices": {
      "dns": {
        "server": "quad9" as const,
        "servers": ["1f00c2aa" as const],
      },
      "firewall": {
        "blocked": [{
          "mac": "1f00c2aa" as const,
          "name": "1f00c2aa" as const,
        }],
        "forwards": [{
          "name": "1f00c2aa" as const,
          "port": "1f00c2aa" as const,
          "protocol": "both" as const,
          "to": "1f00c2aa" as const,
          "to_port": "1f00c2aa" as const,
        }],
      },
      "format": 1,
      "internet": {
        "address": "1f00c2aa" as const,
        "apn": "1f00c2aa" as const,
        "dns": ["1f00c2aa" as const],
        "gateway": "1f00c2aa" as const,
        "ipv6": true,
        "key": "1f00c2aa" as const,
        "kind": "pppoe" as const,
        "modem": "1f00c2aa" as const,
        "password": "1f00c2aa" as const,
        "pin": "1f00c2aa" as const,
        "port": "1f00c2aa" as const,
        "radio": "1f00c2aa" as const,
        "service": "1f00c2aa" as const,
        "ssid": "1f00c2aa" as const,
        "username": "1f00c2aa" as const,
        "vlan": 1,
      },
      "lan": {
        "address": "1f00c2aa" as const,
        "count": 1,
        "dhcp": true,
        "first": 1,
        "lease": "1f00c2aa" as const,
        "ports": ["1f00c2aa" as const],
      },
      "mesh": {
        "channel": 1,
        "country": "1f00c2aa" as const,
        "gateway": true,
        "key": "1f00c2aa" as const,
        "kind": "apup" as const,
        "name": "1f00c2aa" as const,
        "radios": ["1f00c2aa" as const],
      },
      "openvpn": {
        "clients": [{
          "name": "1f00c2aa" as const,
        }],
        "endpoint": "1f00c2aa" as const,
        "network": "1f00c2aa" as const,
        "on": true,
        "port": 1,
      },
      "router": {
        "language": "1f00c2aa" as const,
        "name": "1f00c2aa" as const,
        "password": "1f00c2aa" as const,
        "password_hash": "1f00c2aa" as const,
        "place": ["1f00c2aa" as const, "1f00c2aa" as const],
        "timezone": "1f00c2aa" as const,
      },
      "wifi": {
        "country": "1f00c2aa" as const,
        "networks": [{
          "for": "lan" as const,
          "hidden": true,
          "key": "1f00c2aa" as const,
          "radios": ["1f00c2aa" as const],
          "roaming": true,
          "security": "wpa2" as const,
          "ssid": "1f00c2aa" as const,
        }],
      },
      "wireguard": {
        "address": "1f00c2aa" as const,
        "clients": [{
          "address": "1f00c2aa" as const,
          "name": "1f00c2aa" as const,
          "preshared_key": "1f00c2aa" as const,
          "public_key": "1f00c2aa" as const,
        }],
        "endpoint": "1f00c2aa" as const,
        "on": true,
        "port": 1,
        "private_key": "1f00c2aa" as const,
      },
    },
    "kept": ["1f00c2aa" as const],
    "model": "1f00c2aa" as const,
    "pending": {
      "files": ["1f00c2aa" as const],
      "left": 1,
      "lines": ["1f00c2aa" as const],
      "number": 1,
      "when": 1,
      "who": "1f00c2aa" as const,
      "why": "1f00c2aa" as const,
    },
    "ports": ["1f00c2aa" as const],
    "radios": [{
      "apup": true,
      "bands": ["1f00c2aa" as const],
      "mesh": true,
      "name": "1f00c2aa" as const,
      "wpa3": true,
    }],
    "reach": {
      "says": "1f00c2aa" as const,
      "way": "no-gateway" as const,
      "whom": "1f00c2aa" as const,
    },
    "release": {
      "known": true,
      "name": "1f00c2aa" as const,
      "version": "1f00c2aa" as const,
    },
    "states": [{
      "files": ["1f00c2aa" as const],
      "left": 1,
      "lines": ["1f00c2aa" as const],
      "number": 1,
      "when": 1,
      "who": "1f00c2aa" as const,
      "why": "1f00c2aa" as const,
    }],
    "undone": {
      "files": ["1f00c2aa" as const],
      "left": 1,
      "lines": ["1f00c2aa" as const],
      "number": 1,
      "when": 1,
      "who": "1f00c2aa" as const,
      "why": "1f00c2aa" as const,
    },
  };
export const isSetup2: Setup = aSetup2;

const aSetup3 = {
    "choices": {
      "dns": {
        "server": "digitalegesellschaft" as const,
        "servers": ["1f00c2aa" as const],
      },
      "firewall": {
        "blocked": [{
          "mac": "1f00c2aa" as const,
          "name": "1f00c2aa" as const,
        }],
        "forwards": [{
          "name": "1f00c2aa" as const,
          "port": "1f00c2aa" as const,
          "protocol": "tcp" as const,
          "to": "1f00c2aa" as const,
          "to_port": "1f00c2aa" as const,
        }],
      },
      "format": 1,
      "internet": {
        "address": "1f00c2aa" as const,
        "apn": "1f00c2aa" as const,
        "dns": ["1f00c2aa" as const],
        "gateway": "1f00c2aa" as const,
        "ipv6": true,
        "key": "1f00c2aa" as const,
        "kind": "mobile" as const,
        "modem": "1f00c2aa" as const,
        "password": "1f00c2aa" as const,
        "pin": "1f00c2aa" as const,
        "port": "1f00c2aa" as const,
        "radio": "1f00c2aa" as const,
        "service": "1f00c2aa" as const,
        "ssid": "1f00c2aa" as const,
        "username": "1f00c2aa" as const,
        "vlan": 1,
      },
      "lan": {
        "address": "1f00c2aa" as const,
        "count": 1,
        "dhcp": true,
        "first": 1,
        "lease": "1f00c2aa" as const,
        "ports": ["1f00c2aa" as const],
      },
      "mesh": {
        "channel": 1,
        "country": "1f00c2aa" as const,
        "gateway": true,
        "key": "1f00c2aa" as const,
        "kind": "none" as const,
        "name": "1f00c2aa" as const,
        "radios": ["1f00c2aa" as const],
      },
      "openvpn": {
        "clients": [{
          "name": "1f00c2aa" as const,
        }],
        "endpoint": "1f00c2aa" as const,
        "network": "1f00c2aa" as const,
        "on": true,
        "port": 1,
      },
      "router": {
        "language": "1f00c2aa" as const,
        "name": "1f00c2aa" as const,
        "password": "1f00c2aa" as const,
        "password_hash": "1f00c2aa" as const,
        "place": ["1f00c2aa" as const, "1f00c2aa" as const],
        "timezone": "1f00c2aa" as const,
      },
      "wifi": {
        "country": "1f00c2aa" as const,
        "networks": [{
          "for": "guest" as const,
          "hidden": true,
          "key": "1f00c2aa" as const,
          "radios": ["1f00c2aa" as const],
          "roaming": true,
          "security": "owe" as const,
          "ssid": "1f00c2aa" as const,
        }],
      },
      "wireguard": {
        "address": "1f00c2aa" as const,
        "clients": [{
          "address": "1f00c2aa" as const,
          "name": "1f00c2aa" as const,
          "preshared_key": "1f00c2aa" as const,
          "public_key": "1f00c2aa" as const,
        }],
        "endpoint": "1f00c2aa" as const,
        "on": true,
        "port": 1,
        "private_key": "1f00c2aa" as const,
      },
    },
    "kept": ["1f00c2aa" as const],
    "model": "1f00c2aa" as const,
    "pending": {
      "files": ["1f00c2aa" as const],
      "left": 1,
      "lines": ["1f00c2aa" as const],
      "number": 1,
      "when": 1,
      "who": "1f00c2aa" as const,
      "why": "1f00c2aa" as const,
    },
    "ports": ["1f00c2aa" as const],
    "radios": [{
      "apup": true,
      "bands": ["1f00c2aa" as const],
      "mesh": true,
      "name": "1f00c2aa" as const,
      "wpa3": true,
    }],
    "reach": {
      "says": "1f00c2aa" as const,
      "way": "no-names" as const,
      "whom": "1f00c2aa" as const,
    },
    "release": {
      "known": true,
      "name": "1f00c2aa" as const,
      "version": "1f00c2aa" as const,
    },
    "states": [{
      "files": ["1f00c2aa" as const],
      "left": 1,
      "lines": ["1f00c2aa" as const],
      "number": 1,
      "when": 1,
      "who": "1f00c2aa" as const,
      "why": "1f00c2aa" as const,
    }],
    "undone": {
      "files": ["1f00c2aa" as const],
      "left": 1,
      "lines": ["1f00c2aa" as const],
      "number": 1,
      "when": 1,
      "who": "1f00c2aa" as const,
      "why": "1f00c2aa" as const,
    },
  };
export const isSetup3: Setup = aSetup3;

const aSetup4 = {
    "choices": {
      "dns": {
        "server": "mullvad" as const,
        "servers": ["1f00c2aa" as const],
      },
      "firewall": {
        "blocked": [{
          "mac": "1f00c2aa" as const,
          "name": "1f00c2aa" as const,
        }],
        "forwards": [{
          "name": "1f00c2aa" as const,
          "port": "1f00c2aa" as const,
          "protocol": "udp" as const,
          "to": "1f00c2aa" as const,
          "to_port": "1f00c2aa" as const,
        }],
      },
      "format": 1,
      "internet": {
        "address": "1f00c2aa" as const,
        "apn": "1f00c2aa" as const,
        "dns": ["1f00c2aa" as const],
        "gateway": "1f00c2aa" as const,
        "ipv6": true,
        "key": "1f00c2aa" as const,
        "kind": "wifi" as const,
        "modem": "1f00c2aa" as const,
        "password": "1f00c2aa" as const,
        "pin": "1f00c2aa" as const,
        "port": "1f00c2aa" as const,
        "radio": "1f00c2aa" as const,
        "service": "1f00c2aa" as const,
        "ssid": "1f00c2aa" as const,
        "username": "1f00c2aa" as const,
        "vlan": 1,
      },
      "lan": {
        "address": "1f00c2aa" as const,
        "count": 1,
        "dhcp": true,
        "first": 1,
        "lease": "1f00c2aa" as const,
        "ports": ["1f00c2aa" as const],
      },
      "mesh": {
        "channel": 1,
        "country": "1f00c2aa" as const,
        "gateway": true,
        "key": "1f00c2aa" as const,
        "kind": "batman" as const,
        "name": "1f00c2aa" as const,
        "radios": ["1f00c2aa" as const],
      },
      "openvpn": {
        "clients": [{
          "name": "1f00c2aa" as const,
        }],
        "endpoint": "1f00c2aa" as const,
        "network": "1f00c2aa" as const,
        "on": true,
        "port": 1,
      },
      "router": {
        "language": "1f00c2aa" as const,
        "name": "1f00c2aa" as const,
        "password": "1f00c2aa" as const,
        "password_hash": "1f00c2aa" as const,
        "place": ["1f00c2aa" as const, "1f00c2aa" as const],
        "timezone": "1f00c2aa" as const,
      },
      "wifi": {
        "country": "1f00c2aa" as const,
        "networks": [{
          "for": "lan" as const,
          "hidden": true,
          "key": "1f00c2aa" as const,
          "radios": ["1f00c2aa" as const],
          "roaming": true,
          "security": "open" as const,
          "ssid": "1f00c2aa" as const,
        }],
      },
      "wireguard": {
        "address": "1f00c2aa" as const,
        "clients": [{
          "address": "1f00c2aa" as const,
          "name": "1f00c2aa" as const,
          "preshared_key": "1f00c2aa" as const,
          "public_key": "1f00c2aa" as const,
        }],
        "endpoint": "1f00c2aa" as const,
        "on": true,
        "port": 1,
        "private_key": "1f00c2aa" as const,
      },
    },
    "kept": ["1f00c2aa" as const],
    "model": "1f00c2aa" as const,
    "pending": {
      "files": ["1f00c2aa" as const],
      "left": 1,
      "lines": ["1f00c2aa" as const],
      "number": 1,
      "when": 1,
      "who": "1f00c2aa" as const,
      "why": "1f00c2aa" as const,
    },
    "ports": ["1f00c2aa" as const],
    "radios": [{
      "apup": true,
      "bands": ["1f00c2aa" as const],
      "mesh": true,
      "name": "1f00c2aa" as const,
      "wpa3": true,
    }],
    "reach": {
      "says": "1f00c2aa" as const,
      "way": "reached" as const,
      "whom": "1f00c2aa" as const,
    },
    "release": {
      "known": true,
      "name": "1f00c2aa" as const,
      "version": "1f00c2aa" as const,
    },
    "states": [{
      "files": ["1f00c2aa" as const],
      "left": 1,
      "lines": ["1f00c2aa" as const],
      "number": 1,
      "when": 1,
      "who": "1f00c2aa" as const,
      "why": "1f00c2aa" as const,
    }],
    "undone": {
      "files": ["1f00c2aa" as const],
      "left": 1,
      "lines": ["1f00c2aa" as const],
      "number": 1,
      "when": 1,
      "who": "1f00c2aa" as const,
      "why": "1f00c2aa" as const,
    },
  };
export const isSetup4: Setup = aSetup4;

const aSetup5 = {
    "choices": {
      "dns": {
        "server": "cloudflare" as const,
        "servers": ["1f00c2aa" as const],
      },
      "firewall": {
        "blocked": [{
          "mac": "1f00c2aa" as const,
          "name": "1f00c2aa" as const,
        }],
        "forwards": [{
          "name": "1f00c2aa" as const,
          "port": "1f00c2aa" as const,
          "protocol": "both" as const,
          "to": "1f00c2aa" as const,
          "to_port": "1f00c2aa" as const,
        }],
      },
      "format": 1,
      "internet": {
        "address": "1f00c2aa" as const,
        "apn": "1f00c2aa" as const,
        "dns": ["1f00c2aa" as const],
        "gateway": "1f00c2aa" as const,
        "ipv6": true,
        "key": "1f00c2aa" as const,
        "kind": "none" as const,
        "modem": "1f00c2aa" as const,
        "password": "1f00c2aa" as const,
        "pin": "1f00c2aa" as const,
        "port": "1f00c2aa" as const,
        "radio": "1f00c2aa" as const,
        "service": "1f00c2aa" as const,
        "ssid": "1f00c2aa" as const,
        "username": "1f00c2aa" as const,
        "vlan": 1,
      },
      "lan": {
        "address": "1f00c2aa" as const,
        "count": 1,
        "dhcp": true,
        "first": 1,
        "lease": "1f00c2aa" as const,
        "ports": ["1f00c2aa" as const],
      },
      "mesh": {
        "channel": 1,
        "country": "1f00c2aa" as const,
        "gateway": true,
        "key": "1f00c2aa" as const,
        "kind": "apup" as const,
        "name": "1f00c2aa" as const,
        "radios": ["1f00c2aa" as const],
      },
      "openvpn": {
        "clients": [{
          "name": "1f00c2aa" as const,
        }],
        "endpoint": "1f00c2aa" as const,
        "network": "1f00c2aa" as const,
        "on": true,
        "port": 1,
      },
      "router": {
        "language": "1f00c2aa" as const,
        "name": "1f00c2aa" as const,
        "password": "1f00c2aa" as const,
        "password_hash": "1f00c2aa" as const,
        "place": ["1f00c2aa" as const, "1f00c2aa" as const],
        "timezone": "1f00c2aa" as const,
      },
      "wifi": {
        "country": "1f00c2aa" as const,
        "networks": [{
          "for": "guest" as const,
          "hidden": true,
          "key": "1f00c2aa" as const,
          "radios": ["1f00c2aa" as const],
          "roaming": true,
          "security": "kept" as const,
          "ssid": "1f00c2aa" as const,
        }],
      },
      "wireguard": {
        "address": "1f00c2aa" as const,
        "clients": [{
          "address": "1f00c2aa" as const,
          "name": "1f00c2aa" as const,
          "preshared_key": "1f00c2aa" as const,
          "public_key": "1f00c2aa" as const,
        }],
        "endpoint": "1f00c2aa" as const,
        "on": true,
        "port": 1,
        "private_key": "1f00c2aa" as const,
      },
    },
    "kept": ["1f00c2aa" as const],
    "model": "1f00c2aa" as const,
    "pending": {
      "files": ["1f00c2aa" as const],
      "left": 1,
      "lines": ["1f00c2aa" as const],
      "number": 1,
      "when": 1,
      "who": "1f00c2aa" as const,
      "why": "1f00c2aa" as const,
    },
    "ports": ["1f00c2aa" as const],
    "radios": [{
      "apup": true,
      "bands": ["1f00c2aa" as const],
      "mesh": true,
      "name": "1f00c2aa" as const,
      "wpa3": true,
    }],
    "reach": {
      "says": "1f00c2aa" as const,
      "way": "no-route" as const,
      "whom": "1f00c2aa" as const,
    },
    "release": {
      "known": true,
      "name": "1f00c2aa" as const,
      "version": "1f00c2aa" as const,
    },
    "states": [{
      "files": ["1f00c2aa" as const],
      "left": 1,
      "lines": ["1f00c2aa" as const],
      "number": 1,
      "when": 1,
      "who": "1f00c2aa" as const,
      "why": "1f00c2aa" as const,
    }],
    "undone": {
      "files": ["1f00c2aa" as const],
      "left": 1,
      "lines": ["1f00c2aa" as const],
      "number": 1,
      "when": 1,
      "who": "1f00c2aa" as const,
      "why": "1f00c2aa" as const,
    },
  };
export const isSetup5: Setup = aSetup5;

const aSetup6 = {
    "choices": {
      "format": 1,
    },
    "kept": ["1f00c2aa" as const],
    "model": null,
    "pending": null,
    "ports": ["1f00c2aa" as const],
    "radios": [{
      "apup": true,
      "bands": ["1f00c2aa" as const],
      "mesh": true,
      "name": "1f00c2aa" as const,
      "wpa3": true,
    }],
    "reach": null,
    "release": {
      "known": true,
      "name": "1f00c2aa" as const,
      "version": "1f00c2aa" as const,
    },
    "states": [{
      "files": ["1f00c2aa" as const],
      "left": null,
      "lines": ["1f00c2aa" as const],
      "number": 1,
      "when": 1,
      "who": "1f00c2aa" as const,
      "why": "1f00c2aa" as const,
    }],
    "undone": null,
  };
export const isSetup6: Setup = aSetup6;

const aSetup7 = {
    "choices": {
      "format": 1,
    },
    "kept": [],
    "model": null,
    "pending": null,
    "ports": [],
    "radios": [],
    "reach": null,
    "release": {
      "known": true,
      "name": "1f00c2aa" as const,
      "version": "1f00c2aa" as const,
    },
    "states": [],
    "undone": null,
  };
export const isSetup7: Setup = aSetup7;

const aPlan0 = {
    "address": "1f00c2aa" as const,
    "lines": [{
      "added": true,
      "address": "1f00c2aa" as const,
      "list": true,
      "value": "1f00c2aa" as const,
    }],
    "problems": [{
      "field": "1f00c2aa" as const,
      "hint": "1f00c2aa" as const,
      "problem": "1f00c2aa" as const,
      "says": "1f00c2aa" as const,
      "values": {
        "1f00c2aa": "1f00c2aa" as const,
      },
    }],
    "sentences": [{
      "says": "1f00c2aa" as const,
      "sentence": "1f00c2aa" as const,
      "step": "1f00c2aa" as const,
      "values": {
        "1f00c2aa": "1f00c2aa" as const,
      },
    }],
    "strength": {
      "score": 1,
      "suggestions": ["1f00c2aa" as const],
      "warning": "1f00c2aa" as const,
    },
  };
export const isPlan0: Plan = aPlan0;

const aPlan1 = {
    "address": null,
    "lines": [{
      "added": true,
      "address": "1f00c2aa" as const,
      "list": true,
      "value": "1f00c2aa" as const,
    }],
    "problems": [{
      "field": "1f00c2aa" as const,
      "hint": "1f00c2aa" as const,
      "problem": "1f00c2aa" as const,
      "says": "1f00c2aa" as const,
      "values": {
        "1f00c2aa": "1f00c2aa" as const,
      },
    }],
    "sentences": [{
      "says": "1f00c2aa" as const,
      "sentence": "1f00c2aa" as const,
      "step": "1f00c2aa" as const,
      "values": {
        "1f00c2aa": "1f00c2aa" as const,
      },
    }],
    "strength": null,
  };
export const isPlan1: Plan = aPlan1;

const aPlan2 = {
    "address": null,
    "lines": [],
    "problems": [],
    "sentences": [],
    "strength": null,
  };
export const isPlan2: Plan = aPlan2;

const aApplied0 = {
    "address": "1f00c2aa" as const,
    "change": {
      "files": ["1f00c2aa" as const],
      "left": 1,
      "lines": ["1f00c2aa" as const],
      "number": 1,
      "when": 1,
      "who": "1f00c2aa" as const,
      "why": "1f00c2aa" as const,
    },
    "once": [{
      "file": "1f00c2aa" as const,
      "name": "1f00c2aa" as const,
      "qr": {
        "path": "1f00c2aa" as const,
        "side": 1,
      },
      "tunnel": "wireguard" as const,
    }],
  };
export const isApplied0: Applied = aApplied0;

const aApplied1 = {
    "address": "1f00c2aa" as const,
    "change": {
      "files": ["1f00c2aa" as const],
      "left": 1,
      "lines": ["1f00c2aa" as const],
      "number": 1,
      "when": 1,
      "who": "1f00c2aa" as const,
      "why": "1f00c2aa" as const,
    },
    "once": [{
      "file": "1f00c2aa" as const,
      "name": "1f00c2aa" as const,
      "qr": {
        "path": "1f00c2aa" as const,
        "side": 1,
      },
      "tunnel": "openvpn" as const,
    }],
  };
export const isApplied1: Applied = aApplied1;

const aApplied2 = {
    "address": null,
    "change": {
      "files": ["1f00c2aa" as const],
      "left": null,
      "lines": ["1f00c2aa" as const],
      "number": 1,
      "when": 1,
      "who": "1f00c2aa" as const,
      "why": "1f00c2aa" as const,
    },
    "once": [{
      "file": "1f00c2aa" as const,
      "name": "1f00c2aa" as const,
      "qr": null,
      "tunnel": "wireguard" as const,
    }],
  };
export const isApplied2: Applied = aApplied2;

const aApplied3 = {
    "address": null,
    "change": {
      "files": [],
      "left": null,
      "lines": [],
      "number": 1,
      "when": 1,
      "who": "1f00c2aa" as const,
      "why": "1f00c2aa" as const,
    },
    "once": [],
  };
export const isApplied3: Applied = aApplied3;

const aDetection0 = {
    "evidence": [{
      "after": 1,
      "fields": {
        "1f00c2aa": ["1f00c2aa" as const],
      },
      "kind": "1f00c2aa" as const,
      "text": "1f00c2aa" as const,
      "vlan": 1,
    }],
    "failed": "1f00c2aa" as const,
    "port": "1f00c2aa" as const,
    "running": true,
    "suggestion": {
      "confident": true,
      "details": {
        "addresses": ["1f00c2aa" as const],
        "aftr": "1f00c2aa" as const,
        "concentrators": ["1f00c2aa" as const],
        "delegated": ["1f00c2aa" as const],
        "dns": ["1f00c2aa" as const],
        "gateway": "1f00c2aa" as const,
        "ipv6": true,
        "nat64": "1f00c2aa" as const,
        "network": "1f00c2aa" as const,
        "portal": "1f00c2aa" as const,
        "prefixes": ["1f00c2aa" as const],
        "servers": ["1f00c2aa" as const],
        "services": ["1f00c2aa" as const],
        "shared": ["1f00c2aa" as const],
      },
      "internet": "dhcp" as const,
      "lan": {
        "former": "1f00c2aa" as const,
        "network": "1f00c2aa" as const,
        "why": "1f00c2aa" as const,
      },
      "open_questions": ["1f00c2aa" as const],
      "vlan": 1,
      "why": ["1f00c2aa" as const],
    },
  };
export const isDetection0: Detection = aDetection0;

const aDetection1 = {
    "evidence": [{
      "after": 1,
      "fields": {
        "1f00c2aa": ["1f00c2aa" as const],
      },
      "kind": "1f00c2aa" as const,
      "text": "1f00c2aa" as const,
      "vlan": 1,
    }],
    "failed": "1f00c2aa" as const,
    "port": "1f00c2aa" as const,
    "running": true,
    "suggestion": {
      "confident": true,
      "details": {
        "addresses": ["1f00c2aa" as const],
        "aftr": "1f00c2aa" as const,
        "concentrators": ["1f00c2aa" as const],
        "delegated": ["1f00c2aa" as const],
        "dns": ["1f00c2aa" as const],
        "gateway": "1f00c2aa" as const,
        "ipv6": true,
        "nat64": "1f00c2aa" as const,
        "network": "1f00c2aa" as const,
        "portal": "1f00c2aa" as const,
        "prefixes": ["1f00c2aa" as const],
        "servers": ["1f00c2aa" as const],
        "services": ["1f00c2aa" as const],
        "shared": ["1f00c2aa" as const],
      },
      "internet": "static" as const,
      "lan": {
        "former": "1f00c2aa" as const,
        "network": "1f00c2aa" as const,
        "why": "1f00c2aa" as const,
      },
      "open_questions": ["1f00c2aa" as const],
      "vlan": 1,
      "why": ["1f00c2aa" as const],
    },
  };
export const isDetection1: Detection = aDetection1;

const aDetection2 = {
    "evidence": [{
      "after": 1,
      "fields": {
        "1f00c2aa": ["1f00c2aa" as const],
      },
      "kind": "1f00c2aa" as const,
      "text": "1f00c2aa" as const,
      "vlan": 1,
    }],
    "failed": "1f00c2aa" as const,
    "port": "1f00c2aa" as const,
    "running": true,
    "suggestion": {
      "confident": true,
      "details": {
        "addresses": ["1f00c2aa" as const],
        "aftr": "1f00c2aa" as const,
        "concentrators": ["1f00c2aa" as const],
        "delegated": ["1f00c2aa" as const],
        "dns": ["1f00c2aa" as const],
        "gateway": "1f00c2aa" as const,
        "ipv6": true,
        "nat64": "1f00c2aa" as const,
        "network": "1f00c2aa" as const,
        "portal": "1f00c2aa" as const,
        "prefixes": ["1f00c2aa" as const],
        "servers": ["1f00c2aa" as const],
        "services": ["1f00c2aa" as const],
        "shared": ["1f00c2aa" as const],
      },
      "internet": "pppoe" as const,
      "lan": {
        "former": "1f00c2aa" as const,
        "network": "1f00c2aa" as const,
        "why": "1f00c2aa" as const,
      },
      "open_questions": ["1f00c2aa" as const],
      "vlan": 1,
      "why": ["1f00c2aa" as const],
    },
  };
export const isDetection2: Detection = aDetection2;

const aDetection3 = {
    "evidence": [{
      "after": 1,
      "fields": {
        "1f00c2aa": ["1f00c2aa" as const],
      },
      "kind": "1f00c2aa" as const,
      "text": "1f00c2aa" as const,
      "vlan": 1,
    }],
    "failed": "1f00c2aa" as const,
    "port": "1f00c2aa" as const,
    "running": true,
    "suggestion": {
      "confident": true,
      "details": {
        "addresses": ["1f00c2aa" as const],
        "aftr": "1f00c2aa" as const,
        "concentrators": ["1f00c2aa" as const],
        "delegated": ["1f00c2aa" as const],
        "dns": ["1f00c2aa" as const],
        "gateway": "1f00c2aa" as const,
        "ipv6": true,
        "nat64": "1f00c2aa" as const,
        "network": "1f00c2aa" as const,
        "portal": "1f00c2aa" as const,
        "prefixes": ["1f00c2aa" as const],
        "servers": ["1f00c2aa" as const],
        "services": ["1f00c2aa" as const],
        "shared": ["1f00c2aa" as const],
      },
      "internet": "dhcpv6-only" as const,
      "lan": {
        "former": "1f00c2aa" as const,
        "network": "1f00c2aa" as const,
        "why": "1f00c2aa" as const,
      },
      "open_questions": ["1f00c2aa" as const],
      "vlan": 1,
      "why": ["1f00c2aa" as const],
    },
  };
export const isDetection3: Detection = aDetection3;

const aDetection4 = {
    "evidence": [{
      "after": 1,
      "fields": {
        "1f00c2aa": ["1f00c2aa" as const],
      },
      "kind": "1f00c2aa" as const,
      "text": "1f00c2aa" as const,
      "vlan": 1,
    }],
    "failed": "1f00c2aa" as const,
    "port": "1f00c2aa" as const,
    "running": true,
    "suggestion": {
      "confident": true,
      "details": {
        "addresses": ["1f00c2aa" as const],
        "aftr": "1f00c2aa" as const,
        "concentrators": ["1f00c2aa" as const],
        "delegated": ["1f00c2aa" as const],
        "dns": ["1f00c2aa" as const],
        "gateway": "1f00c2aa" as const,
        "ipv6": true,
        "nat64": "1f00c2aa" as const,
        "network": "1f00c2aa" as const,
        "portal": "1f00c2aa" as const,
        "prefixes": ["1f00c2aa" as const],
        "servers": ["1f00c2aa" as const],
        "services": ["1f00c2aa" as const],
        "shared": ["1f00c2aa" as const],
      },
      "internet": "none" as const,
      "lan": {
        "former": "1f00c2aa" as const,
        "network": "1f00c2aa" as const,
        "why": "1f00c2aa" as const,
      },
      "open_questions": ["1f00c2aa" as const],
      "vlan": 1,
      "why": ["1f00c2aa" as const],
    },
  };
export const isDetection4: Detection = aDetection4;

const aDetection5 = {
    "evidence": [{
      "after": 1,
      "fields": {
        "1f00c2aa": ["1f00c2aa" as const],
      },
      "kind": "1f00c2aa" as const,
      "text": "1f00c2aa" as const,
      "vlan": null,
    }],
    "failed": null,
    "port": "1f00c2aa" as const,
    "running": true,
    "suggestion": null,
  };
export const isDetection5: Detection = aDetection5;

const aDetection6 = {
    "evidence": [],
    "failed": null,
    "port": "1f00c2aa" as const,
    "running": true,
    "suggestion": null,
  };
export const isDetection6: Detection = aDetection6;

const aJoin0 = {
    "document": "1f00c2aa" as const,
    "qr": {
      "path": "1f00c2aa" as const,
      "side": 1,
    },
  };
export const isJoin0: Join = aJoin0;
