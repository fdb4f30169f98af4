//! The protocol's messages, a line of JSON each, on standard input and output. A malformed line gets an answer too, and
//! no answer repeats its content.

use std::future::{Future, ready};
use std::io::{self, Write as _};
use std::mem;

use rmcp::RoleServer;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader, Stdin, stdin};

/// Maximum length of a message, in bytes.
const MOST_BYTES: usize = 16 << 20;

/// Maximum length of a method's name, in bytes: answers to unknown methods repeat it.
const MOST_METHOD_BYTES: usize = 256;

/// JSON-RPC's error codes.
const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;

pub(super) struct Lines {
    input: BufReader<Stdin>,
    /// The part of the next line that was read: reading may be cancelled in the middle.
    line: Vec<u8>,
}

impl Lines {
    pub(super) fn new() -> Self {
        Self {
            input: BufReader::new(stdin()),
            line: Vec::new(),
        }
    }

    /// The next line, cut to just over the longest message; `None` at the end.
    async fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            let part = self.input.fill_buf().await?;
            if part.is_empty() {
                return Ok(None);
            }
            let end = part.iter().position(|byte| *byte == b'\n');
            let count = end.map_or(part.len(), |end| end + 1);
            if self.line.len() <= MOST_BYTES {
                self.line.extend_from_slice(&part[..count]);
            }
            self.input.consume(count);
            if end.is_some() {
                return Ok(Some(mem::take(&mut self.line)));
            }
        }
    }
}

impl Transport<RoleServer> for Lines {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        ready(print(&message))
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let line = self.next().await.ok()??;
            if line.trim_ascii().is_empty() {
                continue;
            }
            match message(&line) {
                Ok(message) => return Some(message),
                Err(None) => {}
                Err(Some(answer)) => print(&answer).ok()?,
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The message in a line; otherwise the answer to a malformed line, or nothing if it expects no answer.
fn message(line: &[u8]) -> Result<RxJsonRpcMessage<RoleServer>, Option<Value>> {
    let error = |id: &Value, code: i32, message: &str| {
        Some(json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}))
    };
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    if line.len() > MOST_BYTES {
        return Err(error(&Value::Null, PARSE_ERROR, "Message too long"));
    }
    let parsed: Option<Value> = serde_json::from_slice(line).ok();
    let value = parsed.ok_or_else(|| error(&Value::Null, PARSE_ERROR, "Parse error"))?;
    let method = value["method"].as_str();
    let is_short = method.is_none_or(|method| method.len() <= MOST_METHOD_BYTES);
    let is_notification = method.is_some() && value.get("id").is_none();
    let id = match &value["id"] {
        id @ (Value::String(_) | Value::Number(_)) if id.to_string().len() <= MOST_METHOD_BYTES => {
            id.clone()
        }
        _ => Value::Null,
    };
    let message = is_short
        .then(|| serde_json::from_value(value).ok())
        .flatten();
    message.ok_or_else(|| match is_notification {
        true => None,
        false => error(&id, INVALID_REQUEST, "Invalid request"),
    })
}

fn print(message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    let mut out = io::stdout().lock();
    out.write_all(&line)?;
    out.flush()
}
