//! `mcp`: a client's conversation.

use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::program::command;

/// The two ends of a conversation.
struct Client {
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    asked: u64,
}

impl Client {
    fn say(&mut self, message: &Value) {
        writeln!(self.to, "{message}").unwrap();
        self.to.flush().unwrap();
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.asked += 1;
        let id = self.asked;
        self.say(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        let mut line = String::new();
        self.from.read_line(&mut line).unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(answer["id"], id, "{answer}");
        answer["result"].clone()
    }

    /// The text of a tool's answer, and whether it is an error.
    fn call(&mut self, name: &str, arguments: Value) -> (String, bool) {
        let answer = self.ask("tools/call", json!({"name": name, "arguments": arguments}));
        let text = answer["content"][0]["text"].as_str();
        (
            text.unwrap_or_else(|| panic!("{answer}")).to_owned(),
            answer["isError"] == true,
        )
    }
}

#[test]
fn an_agent_asks() {
    let mut child = command(&["mcp"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let from = BufReader::new(child.stdout.take().unwrap());
    let mut client = Client {
        to: child.stdin.take().unwrap(),
        from,
        asked: 0,
    };
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}});
    let hello = client.ask("initialize", hello);
    assert_eq!(hello["serverInfo"]["name"], "vramscope");
    client.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    let tools = client.ask("tools/list", json!({}));
    let names: Vec<&str> = tools["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["brief", "question"]);

    let file = "allocator/pressure.pickle.zst";
    let (text, failed) = client.call("brief", json!({"files": [file]}));
    assert!(!failed && text.len() <= 4096, "{text}");
    let printed = command(&["brief", file, "--json"]).output().unwrap().stdout;
    assert_eq!(text.as_bytes(), printed);

    for (command, arguments) in [
        ("oom", json!([])),
        ("at", json!(["peak"])),
        ("find", json!(["size>10MiB", "--stack"])),
        ("leaks", json!([])),
    ] {
        let (text, failed) = client.call(
            "question",
            json!({"command": command, "arguments": arguments, "files": [file], "rows": 1000}),
        );
        assert!(!failed && text.len() <= 16 << 10, "{command}: {text}");
        assert_eq!(
            serde_json::from_str::<Value>(&text).unwrap()["command"],
            command
        );
    }

    for (name, arguments, word) in [
        (
            "brief",
            json!({"files": ["missing.pickle"]}),
            "missing.pickle",
        ),
        ("brief", json!({}), "files"),
        (
            "question",
            json!({"command": "html", "files": [file]}),
            "oom",
        ),
        (
            "question",
            json!({"command": "find", "arguments": ["size>"], "files": [file]}),
            "size",
        ),
        (
            "question",
            json!({"command": "oom", "arguments": ["-o", "x"], "files": [file]}),
            "-o",
        ),
        ("pickle", json!({"files": [file]}), "brief"),
    ] {
        let (text, failed) = client.call(name, arguments);
        assert!(failed && text.contains(word), "{text}");
    }
    drop(client);
    assert!(child.wait().unwrap().success());
}
