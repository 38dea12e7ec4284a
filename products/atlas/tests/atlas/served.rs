//! A server of the real program on a port that the system chooses, and a client that says every
//! byte itself.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use std::{fs, thread};

use testing::Directory;

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_weir-atlas");

/// Snapshots of three months, with a name that is markup, a parent, and a number that is odd.
pub fn snapshots(folder: &Path) {
    for (month, time) in [(1, "2019-01-15"), (2, "2019-02-15"), (3, "2020-03-15")] {
        let entry = |name: &str, nodes: &str, more: &str| {
            format!(
                "{{\"api\":\"0.4.0\",\"name\":\"{name}\",\"url\":\"https://example.org\",\
                 \"location\":{{\"city\":\"Jena\",\"country\":\"DE\",\"lat\":50.9,\"lon\":11.6}},\
                 \"techDetails\":{{\"routing\":[\"OLSR\"]}},{more}\
                 \"state\":{{\"nodes\":{nodes},\"lastchange\":\"{time}T10:00:00Z\"}},\
                 \"mtime\":\"{time} 11:00:00.000000\"}}"
            )
        };
        let text = format!(
            "{{\"jena\":{},\"evil\":{},\"odd\":{}}}",
            entry("Freifunk Jena", &(100 * month).to_string(), ""),
            entry(
                "<script>alert(1)</script>",
                "50",
                "\"metacommunity\":\"<b>Meta</b>\","
            ),
            entry("Odd", "-1", ""),
        );
        let name = format!("{}-12.00.00-ffSummarizedDir.json", time.replace('-', ""));
        fs::write(folder.join(name), text).expect("written");
    }
    fs::write(
        folder.join("20190301-12.00.00-ffSummarizedDir.json"),
        "{\"a\":",
    )
    .expect("written");
}

/// A data folder with these snapshots in it.
pub fn data() -> Directory {
    let (from, data) = (Directory::new(), Directory::new());
    snapshots(from.path());
    let done = Command::new(PROGRAM)
        .arg("import")
        .arg(from.path())
        .arg("--data")
        .arg(data.path())
        .output()
        .expect("the program");
    assert!(
        done.status.success(),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
    data
}

/// A server.
pub struct Server {
    pub child: Child,
    pub address: SocketAddr,
    pub data: Directory,
}

impl Server {
    pub fn start(arguments: &[&str]) -> Self {
        Self::of(data(), arguments)
    }

    pub fn of(data: Directory, arguments: &[&str]) -> Self {
        let mut child = Command::new(PROGRAM)
            .args(["serve", "--listen", "127.0.0.1:0", "--data"])
            .arg(data.path())
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program");
        let mut line = String::new();
        let output = child.stdout.take().expect("its output");
        BufReader::new(output).read_line(&mut line).expect("a line");
        let address = line
            .trim()
            .trim_start_matches("http://")
            .trim_end_matches('/');
        let address = address
            .parse()
            .unwrap_or_else(|_| panic!("no address: {line:?}"));
        Self {
            child,
            address,
            data,
        }
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).expect("connected");
        stream
            .set_read_timeout(Some(Duration::from_secs(30)))
            .expect("set");
        stream
    }

    /// Says exactly this, and reads all that comes.
    pub fn raw(&self, request: &[u8]) -> Vec<u8> {
        let mut stream = self.connect();
        // The server may have answered before the whole request is sent.
        let _ = stream.write_all(request);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        answer
    }

    pub fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, "")
    }

    /// `headers`: lines, each with its end.
    pub fn ask(&self, method: &str, path: &str, headers: &str) -> Answer {
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n{headers}\r\n",
            self.address
        );
        Answer::of(&self.raw(request.as_bytes()))
    }

    /// Ends it as a service manager does, and says whether that went well.
    pub fn end(mut self) -> bool {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args(["-TERM", &id]).status();
        assert!(sent.is_ok_and(|status| status.success()));
        for _ in 0..200 {
            if let Some(status) = self.child.try_wait().expect("a child") {
                return status.success();
            }
            thread::sleep(Duration::from_millis(50));
        }
        false
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An answer.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: String,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn of(octets: &[u8]) -> Self {
        let end = octets.windows(4).position(|four| four == b"\r\n\r\n");
        let end = end.unwrap_or_else(|| panic!("no answer: {:?}", String::from_utf8_lossy(octets)));
        let headers = String::from_utf8_lossy(&octets[..end]).into_owned();
        let status = headers.split(' ').nth(1).and_then(|text| text.parse().ok());
        Self {
            status: status.unwrap_or(0),
            headers,
            body: octets[end + 4..].to_vec(),
        }
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.lines().find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("text")
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("no JSON: {}", self.text()))
    }
}
