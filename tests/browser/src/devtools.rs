//! A client of the DevTools protocol: JSON messages over one WebSocket to the browser.
//!
//! One thread, no runtime: [`Devtools::call`] sends a command and reads until its answer arrives; events that arrive
//! meanwhile are queued in order.

use std::collections::VecDeque;
use std::io::ErrorKind;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use tungstenite::{Message, WebSocket};

/// How long a command may take before the browser counts as stuck.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(120);

/// A message that the browser or one of its targets sends unasked.
#[derive(Clone, Debug)]
pub struct Event {
    /// The session that sent it; empty for the browser itself.
    pub session: String,
    /// The event's name, such as `Network.requestWillBeSent`.
    pub method: String,
    /// The event's parameters.
    pub params: Value,
}

/// A connection to a browser.
#[derive(Debug)]
pub struct Devtools {
    socket: WebSocket<TcpStream>,
    next_id: u64,
    events: VecDeque<Event>,
}

impl Devtools {
    /// Connects to the browser that listens on loopback at `port`, under `path`.
    ///
    /// # Errors
    ///
    /// When it does not answer.
    pub fn connect(port: u16, path: &str) -> Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port)).context("cannot reach the browser")?;
        stream.set_nodelay(true)?;
        let url = format!("ws://127.0.0.1:{port}{path}");
        // Screenshots of large pages exceed the usual message limits.
        let config = tungstenite::protocol::WebSocketConfig::default()
            .max_message_size(None)
            .max_frame_size(None);
        let (socket, _) = tungstenite::client::client_with_config(url, stream, Some(config))
            .map_err(|error| anyhow::anyhow!("DevTools handshake: {error}"))?;
        Ok(Self {
            socket,
            next_id: 1,
            events: VecDeque::new(),
        })
    }

    /// Calls `method` in `session` (empty: the browser itself) and waits for the answer.
    ///
    /// # Errors
    ///
    /// When the browser refuses or does not answer in time, or the connection is lost.
    pub fn call(&mut self, session: &str, method: &str, params: Value) -> Result<Value> {
        let id = self.send(session, method, params)?;
        let deadline = Instant::now() + ANSWER_TIMEOUT;
        while Instant::now() < deadline {
            let Some(mut message) = self.read(Duration::from_millis(500))? else {
                continue;
            };
            if message["id"].as_u64() != Some(id) {
                self.keep(message);
            } else if let Some(error) = message.get("error") {
                bail!("{method}: {error}");
            } else {
                return Ok(message["result"].take());
            }
        }
        bail!("{method}: no answer in {ANSWER_TIMEOUT:?}")
    }

    /// Sends a command without waiting for its answer, and returns the command's id.
    ///
    /// # Errors
    ///
    /// When the connection is lost.
    pub fn send(&mut self, session: &str, method: &str, params: Value) -> Result<u64> {
        let id = self.next_id;
        self.next_id += 1;
        let mut message = json!({"id": id, "method": method, "params": params});
        if !session.is_empty() {
            message["sessionId"] = session.into();
        }
        self.socket
            .send(Message::text(message.to_string()))
            .context("the browser went away")?;
        Ok(id)
    }

    /// Waits for the next event, at most for `timeout`.
    ///
    /// # Errors
    ///
    /// When the connection is lost.
    pub fn next_event(&mut self, timeout: Duration) -> Result<Option<Event>> {
        let deadline = Instant::now() + timeout;
        loop {
            if let Some(event) = self.events.pop_front() {
                return Ok(Some(event));
            }
            let left = deadline.saturating_duration_since(Instant::now());
            match self.read(left)? {
                Some(message) => self.keep(message),
                None => return Ok(None),
            }
        }
    }

    /// Queues an event, and drops answers that nobody waits for.
    fn keep(&mut self, mut message: Value) {
        if let Some(method) = message["method"].as_str() {
            self.events.push_back(Event {
                session: message["sessionId"].as_str().unwrap_or_default().to_owned(),
                method: method.to_owned(),
                params: message["params"].take(),
            });
        }
    }

    /// The next message; `None` if the time is over first.
    fn read(&mut self, timeout: Duration) -> Result<Option<Value>> {
        // A timeout of zero would mean waiting without a limit.
        let timeout = timeout.max(Duration::from_millis(1));
        self.socket.get_ref().set_read_timeout(Some(timeout))?;
        match self.socket.read() {
            Ok(Message::Text(text)) => Ok(Some(serde_json::from_str(text.as_str())?)),
            Ok(_) => Ok(None),
            Err(tungstenite::Error::Io(error))
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) =>
            {
                Ok(None)
            }
            Err(error) => Err(error).context("the browser went away"),
        }
    }
}
