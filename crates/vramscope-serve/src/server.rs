//! Serves on loopback, only to clients that know the secret path.
//!
//! Any program of any user on this machine can connect to a loopback port, and any web page can make
//! its visitor's browser do so. Hence a path that cannot be guessed (against the first) and a check of
//! the header `Host` (against pages whose name resolves to 127.0.0.1, so-called DNS rebinding).

use std::fmt::Write as _;
use std::io::{self, Cursor, Read};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::events::{self, EVENTS, Events};
use super::files::{self, Served};
use super::http::{Request, Response, Status, parse, read_head, write_response};
use super::page::{Asset, Page, content_type};
use crate::error::Error;

/// The time for a whole request head, so that slow clients do not hold a place for longer; browsers also open
/// connections in advance that they never use. On one machine a head takes milliseconds.
const HEAD: Duration = Duration::from_secs(2);
/// How long a client may leave an answer unread.
const UNREAD: Duration = Duration::from_secs(30);
/// Maximum number of connections served at once; a browser opens six.
const CONNECTIONS: usize = 64;
/// How many of them may wait for file changes, one for each open page; the rest stays free for others.
const LISTENERS: usize = 32;
/// The pause after a failed accept, and the maximum number of failures in a row: a minute in all, during which silent
/// connections are closed and free their file handles.
const RETRY_AFTER: Duration = Duration::from_millis(100);
const RETRIES: u32 = 600;

/// The page and the files, ready to be served.
pub struct Server {
    listener: TcpListener,
    port: u16,
    token: String,
    page: Page,
    /// The page's `index.html`, which names the files.
    index: String,
    files: Vec<Served>,
    /// The connections that wait for file changes; `None` if the page does not follow them.
    listeners: Option<Places>,
}

impl Server {
    /// Binds the port; 0 means any free port. `is_live`: notify the page when a file changes.
    ///
    /// # Errors
    /// When the port is in use, the page has no head, or the system provides no random numbers.
    pub fn bind(port: u16, page: Page, files: Vec<Served>, is_live: bool) -> Result<Self, Error> {
        let doing = format!("cannot listen on 127.0.0.1:{port}");
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(Error::io(&doing))?;
        let port = listener.local_addr().map_err(Error::io(&doing))?.port();
        Ok(Self {
            listener,
            port,
            token: token()?,
            index: index(&page, &files, is_live)?,
            page,
            files,
            listeners: is_live.then(Places::default),
        })
    }

    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    #[must_use]
    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}/{}/", self.port, self.token)
    }

    /// Answers requests until the process ends.
    ///
    /// # Errors
    /// When accepting connections fails for longer than silent ones are kept open.
    pub fn serve(&self) -> Result<(), Error> {
        let places = Places::default();
        thread::scope(|scope| {
            let mut failed = 0;
            loop {
                // All others wait in the system's queue: a late answer is better than none.
                let place = places.take();
                let stream = match self.listener.accept() {
                    Ok((stream, _)) => stream,
                    Err(error) if is_passing(&error) => continue,
                    // Usually there is no free file handle at the moment.
                    Err(_) if failed < RETRIES => {
                        failed += 1;
                        thread::sleep(RETRY_AFTER);
                        continue;
                    }
                    Err(error) => return Err(Error::io("cannot accept connections")(error)),
                };
                failed = 0;
                // If no thread can be started the connection is closed, and the browser retries.
                drop(thread::Builder::new().spawn_scoped(scope, move || {
                    // A browser may close the connection at any time.
                    drop(self.handle(&stream));
                    drop(place);
                }));
            }
        })
    }

    fn handle(&self, stream: &TcpStream) -> io::Result<()> {
        stream.set_write_timeout(Some(UNREAD))?;
        let end = Instant::now() + HEAD;
        let head = read_head(Until { stream, end });
        if head.is_empty() {
            // The browser would take an answer here for the reply to its next request.
            return Ok(());
        }
        match parse(&head) {
            None => write_response(
                stream,
                Response::text(Status::BadRequest, "bad request\n"),
                true,
            )?,
            Some(request) => {
                let with_body = request.method != "HEAD";
                write_response(stream, self.answer(&request), with_body)?;
            }
        }
        stream.shutdown(Shutdown::Write)
    }

    fn answer(&self, request: &Request) -> Response<'_> {
        if !is_own_host(&request.host, self.port) {
            let text = "Only http://127.0.0.1 or localhost with this server's own port is answered here.\n";
            return Response::text(Status::Forbidden, text);
        }
        if request.method != "GET" && request.method != "HEAD" {
            return Response::text(Status::MethodNotAllowed, "only GET\n");
        }
        self.find(request)
            .unwrap_or_else(|| Response::text(Status::NotFound, "not found\n"))
    }

    /// Finds a file of the page, or one of the user's by number and name. The path is only compared with
    /// known names, so it cannot reach other files.
    fn find(&self, request: &Request) -> Option<Response<'_>> {
        let (token, path) = request.path.strip_prefix('/')?.split_once('/')?;
        if !is_same_secret(token, &self.token) {
            return None;
        }
        if path.is_empty() || path == "index.html" {
            return Some(Response {
                content_type: content_type("index.html"),
                ..Response::text(Status::Ok, &self.index)
            });
        }
        if let Some(asset) = self.page.find(path) {
            return Some(asset_response(asset, request.accepts_gzip));
        }
        if let (EVENTS, Some(listeners)) = (path, &self.listeners) {
            return Some(match listeners.try_take(LISTENERS) {
                Some(place) => Response {
                    status: Status::Ok,
                    content_type: "text/event-stream",
                    is_gzip: false,
                    length: None,
                    body: Box::new(Events::new(&self.files, place)),
                },
                None => Response::text(Status::Busy, "too many pages\n"),
            });
        }
        let (index, name) = path.strip_prefix("files/")?.split_once('/')?;
        let file = self.files.get(index.parse::<usize>().ok()?)?;
        let opened = match file.name == name {
            true => file.open(),
            false => file.open_rank(name)?,
        };
        let (body, length) = opened.ok()?;
        Some(Response {
            status: Status::Ok,
            content_type: "application/octet-stream",
            is_gzip: false,
            length: Some(length),
            body,
        })
    }
}

/// A stream that can be read until a deadline, however many reads that takes.
struct Until<'a> {
    stream: &'a TcpStream,
    end: Instant,
}

impl Read for Until<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.end.saturating_duration_since(Instant::now());
        // Fails when no time is left.
        self.stream.set_read_timeout(Some(left))?;
        let mut stream = self.stream;
        stream.read(buffer)
    }
}

/// Counts the connections being served.
#[derive(Default)]
struct Places {
    taken: Mutex<usize>,
    left: Condvar,
}

/// One of the places, until it is dropped.
struct Place<'a>(&'a Places);

impl Places {
    /// Waits until a place is free.
    fn take(&self) -> Place<'_> {
        let taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let mut taken = self
            .left
            .wait_while(taken, |taken| *taken >= CONNECTIONS)
            .unwrap_or_else(PoisonError::into_inner);
        *taken += 1;
        Place(self)
    }

    /// A place if fewer than `most` are taken.
    fn try_take(&self, most: usize) -> Option<Place<'_>> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        (*taken < most).then(|| {
            *taken += 1;
            Place(self)
        })
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        *self.0.taken.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.0.left.notify_one();
    }
}

/// The page's `index.html` with the files in its head, and where their changes are announced. A page built without
/// samples offers none.
fn index(page: &Page, files: &[Served], is_live: bool) -> Result<String, Error> {
    const NO_SAMPLES: &str =
        "<style>.start section:has(#samples-title) { display: none }</style>\n";
    let html = page.text("index.html")?;
    let (head, body) = html
        .split_once("</head>")
        .ok_or_else(|| Error::Page("</head>".to_owned()))?;
    let live = if is_live { events::LINK } else { "" };
    let is_sample = |asset: &Asset| asset.name.starts_with("samples/");
    let has_samples = page.assets().iter().any(is_sample);
    let style = if has_samples { "" } else { NO_SAMPLES };
    Ok(format!(
        "{head}{style}{}{live}</head>{body}",
        files::links(files)
    ))
}

fn asset_response(asset: &Asset, accepts_gzip: bool) -> Response<'_> {
    let content_type = content_type(&asset.name);
    let (body, length): (Box<dyn Read>, _) = if accepts_gzip {
        (Box::new(&*asset.gzip), asset.gzip.len())
    } else {
        let mut bytes = Vec::new();
        // The data were compressed by the build, so this cannot fail.
        drop(flate2::read::GzDecoder::new(&*asset.gzip).read_to_end(&mut bytes));
        let length = bytes.len();
        (Box::new(Cursor::new(bytes)), length)
    };
    Response {
        status: Status::Ok,
        content_type,
        is_gzip: accepts_gzip,
        length: Some(length as u64),
        body,
    }
}

/// Whether an error concerns one connection only, not the listener.
fn is_passing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::Interrupted
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
    )
}

/// Whether a `Host` header is a name of the loopback address with this port.
fn is_own_host(host: &str, port: u16) -> bool {
    let Some((name, host_port)) = host.rsplit_once(':') else {
        return false;
    };
    let is_own_name =
        name == "127.0.0.1" || name == "[::1]" || name.eq_ignore_ascii_case("localhost");
    is_own_name && host_port == port.to_string()
}

/// Compares all bytes, so that the time taken does not reveal how many agree.
fn is_same_secret(given: &str, secret: &str) -> bool {
    let differing = given
        .bytes()
        .zip(secret.bytes())
        .fold(0, |all, (a, b)| all | (a ^ b));
    given.len() == secret.len() && differing == 0
}

/// 128 random bits in hex, which nobody can guess.
fn token() -> Result<String, Error> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)
        .map_err(|error| Error::io("the system gives no random numbers")(error.into()))?;
    Ok(bytes.iter().fold(String::new(), |mut token, byte| {
        let _ = write!(token, "{byte:02x}");
        token
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_own_names_with_own_port() {
        for host in ["127.0.0.1:80", "localhost:80", "LOCALHOST:80", "[::1]:80"] {
            assert!(is_own_host(host, 80), "{host}");
        }
        for host in [
            "",
            "127.0.0.1",
            "localhost",
            "evil.example:80",
            "127.0.0.1:81",
            "127.0.0.1.evil:80",
            "::1:80",
        ] {
            assert!(!is_own_host(host, 80), "{host}");
        }
    }

    #[test]
    fn tokens_are_long_and_differ() {
        let (first, second) = (token().unwrap(), token().unwrap());
        assert_eq!(first.len(), 32);
        assert_ne!(first, second);
        assert!(is_same_secret(&first, &first.clone()));
        assert!(!is_same_secret(&first, &second));
        assert!(!is_same_secret("", &first));
    }
}
