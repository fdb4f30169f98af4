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

const FILE: &str = "allocator/pressure.pickle.zst";

/// Runs the server, and has it greeted. It must end with the conversation.
fn with_client(talk: impl FnOnce(&mut Client)) {
    let mut server = command(&["mcp"]);
    server.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut server = server.spawn().unwrap();
    let mut client = Client {
        to: server.stdin.take().unwrap(),
        from: BufReader::new(server.stdout.take().unwrap()),
        asked: 0,
    };
    let hello = client.ask(
        "initialize",
        json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}),
    );
    assert_eq!(hello["serverInfo"]["name"], "vramscope");
    client.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    talk(&mut client);
    drop(client);
    assert!(server.wait().unwrap().success());
}

#[test]
fn an_agent_is_told_of_two_tools() {
    with_client(|client| {
        let tools = client.ask("tools/list", json!({}));
        let tools = tools["tools"].as_array().unwrap();
        let names: Vec<_> = tools.iter().map(|tool| tool["name"].as_str()).collect();
        assert_eq!(names, [Some("brief"), Some("question")]);
    });
}

#[test]
fn answers_are_those_of_the_commands_and_bounded() {
    with_client(|client| {
        let (text, failed) = client.call("brief", json!({"files": [FILE]}));
        assert!(!failed && text.len() <= 4096, "{text}");
        let printed = command(&["brief", FILE, "--json"]).output().unwrap().stdout;
        assert_eq!(text.as_bytes(), printed);
        for (command, arguments) in [
            ("oom", json!([])),
            ("at", json!(["peak"])),
            ("find", json!(["size>10MiB", "--stack"])),
            ("leaks", json!([])),
        ] {
            let question =
                json!({"command": command, "arguments": arguments, "files": [FILE], "rows": 1000});
            let (text, failed) = client.call("question", question);
            assert!(!failed && text.len() <= 16 << 10, "{command}: {text}");
            let answer: Value = serde_json::from_str(&text).unwrap();
            assert_eq!(answer["command"], command);
        }
    });
}

#[test]
fn what_is_wrong_is_said() {
    with_client(|client| {
        for (name, arguments, word) in [
            (
                "brief",
                json!({"files": ["missing.pickle"]}),
                "missing.pickle",
            ),
            ("brief", json!({}), "files"),
            (
                "question",
                json!({"command": "html", "files": [FILE]}),
                "oom",
            ),
            (
                "question",
                json!({"command": "find", "arguments": ["size>"], "files": [FILE]}),
                "size",
            ),
            (
                "question",
                json!({"command": "oom", "arguments": ["-o", "x"], "files": [FILE]}),
                "-o",
            ),
            ("pickle", json!({"files": [FILE]}), "brief"),
        ] {
            let (text, failed) = client.call(name, arguments);
            assert!(failed && text.contains(word), "{text}");
        }
    });
}
