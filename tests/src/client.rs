//! A client of a running weir, call by call.

use std::path::Path;

use answers::{
    Cables, Conditions, Conversations, ConversationsQuery, Devices, Drops, Explanation, Flow,
    FlowList, FlowQuery, History, HistoryQuery, Paths, Port, Probes, RadioLog, Radios, Reloaded,
    StationPair, Status,
};
use api::{ClientError, with_query};

/// Sends requests to the API's socket.
pub struct Client(api::Client);

type Answer<T> = Result<T, ClientError>;

impl Client {
    /// Connects to the daemon at this socket.
    ///
    /// # Errors
    /// The runtime cannot be built.
    pub fn new(socket: &Path) -> Answer<Self> {
        api::Client::new(socket).map(Self)
    }

    /// Returns the daemon's status.
    ///
    /// # Errors
    /// No answer, or a problem; the same for all that follow.
    pub fn status(&self) -> Answer<Status> {
        self.0.get("/v1/status")
    }

    /// Returns conditions that need attention.
    pub fn conditions(&self) -> Answer<Conditions> {
        self.0.get("/v1/conditions")
    }

    /// Returns all flows.
    pub fn flows(&self) -> Answer<Vec<Flow>> {
        Ok(self.list()?.flows)
    }

    /// Returns stations of bridges.
    pub fn bridged(&self) -> Answer<Vec<StationPair>> {
        Ok(self.list()?.bridged)
    }

    fn list(&self) -> Answer<FlowList> {
        self.0.get("/v1/flows")
    }

    /// Returns the devices that use the network.
    pub fn devices(&self) -> Answer<Devices> {
        self.0.get("/v1/devices")
    }

    /// Returns conversations.
    pub fn conversations(&self, asked: &ConversationsQuery) -> Answer<Conversations> {
        self.0.get(&with_query("/v1/conversations", asked))
    }

    /// Returns past traffic.
    pub fn history(&self, asked: &HistoryQuery) -> Answer<History> {
        self.0.get(&with_query("/v1/history", asked))
    }

    /// Returns the combined uplinks.
    pub fn paths(&self) -> Answer<Paths> {
        self.0.get("/v1/paths")
    }

    /// Returns the cables, with the role of each port.
    pub fn cables(&self) -> Answer<Cables> {
        self.0.get("/v1/cables")
    }

    /// Returns the access points' radio settings.
    pub fn radios(&self) -> Answer<Radios> {
        self.0.get("/v1/radio")
    }

    /// Returns the log of changes to radio settings.
    pub fn radio_log(&self) -> Answer<RadioLog> {
        self.0.get("/v1/radio/log")
    }

    /// Returns the records of the network stack.
    pub fn probes(&self) -> Answer<Probes> {
        self.0.get("/v1/probes")
    }

    /// Returns all ports.
    pub fn ports(&self) -> Answer<Vec<Port>> {
        self.0.get("/v1/ports")
    }

    /// Returns the early drops.
    pub fn drops(&self) -> Answer<Drops> {
        self.0.get("/v1/drops")
    }

    /// Returns the reason for which weir forwards a flow or does not.
    pub fn explain(&self, asked: &FlowQuery) -> Answer<Explanation> {
        self.0.get(&with_query("/v1/explain", asked))
    }

    /// Returns the JSON at a path.
    pub fn told(&self, path: &str) -> Answer<serde_json::Value> {
        self.0.get(path)
    }

    /// Reloads the configuration.
    pub fn reload(&self) -> Answer<Reloaded> {
        self.0.post("/v1/reload")
    }
}
