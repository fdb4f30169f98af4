//! A static file server on loopback, as simple as the simplest static host.
//!
//! It knows nothing about the page: the tests also check that any static host will do. It keeps a list of requested
//! paths, so that a test can compare them with the browser's reports, and forbids caching, so that each path is in the
//! list as often as it is needed. For benchmarks it can also do what larger hosts do: compress files and let browsers
//! cache them.

use std::collections::HashMap;
use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// A server that runs until its process ends.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    site: Arc<Site>,
}

/// The files served, and the requests so far.
#[derive(Debug)]
struct Site {
    root: PathBuf,
    requests: Mutex<Vec<String>>,
    /// The files requested in brotli; `None` if nothing is compressed and cached.
    compressed: Option<Mutex<HashMap<PathBuf, Vec<u8>>>>,
    /// Lines in the head of every answer.
    headers: &'static str,
}

impl Server {
    /// Serves the files under `root` on `port`, or on a free port for 0.
    ///
    /// # Errors
    ///
    /// When the port cannot be bound.
    pub fn start(root: &Path, port: u16) -> io::Result<Self> {
        Self::serve(root, port, None, "")
    }

    /// Serves the files under `root` with `headers`, each line of which ends with `\r\n`.
    ///
    /// # Errors
    ///
    /// When no port can be bound.
    pub fn with_headers(root: &Path, headers: &'static str) -> io::Result<Self> {
        Self::serve(root, 0, None, headers)
    }

    /// Serves the files under `root` as a host of static pages does: compressed with brotli, cacheable, and readable by
    /// pages of all sites.
    ///
    /// # Errors
    ///
    /// When no port can be bound.
    pub fn like_a_host(root: &Path) -> io::Result<Self> {
        let headers = "Access-Control-Allow-Origin: *\r\n";
        Self::serve(root, 0, Some(Mutex::default()), headers)
    }

    fn serve(
        root: &Path,
        port: u16,
        compressed: Option<Mutex<HashMap<PathBuf, Vec<u8>>>>,
        headers: &'static str,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let address = listener.local_addr()?;
        let site = Arc::new(Site {
            root: root.to_path_buf(),
            requests: Mutex::default(),
            compressed,
            headers,
        });
        let served = Arc::clone(&site);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let site = Arc::clone(&served);
                // One thread per connection. A connection that the browser closes is not an error.
                thread::spawn(move || site.answer_all(&stream));
            }
        });
        Ok(Self { address, site })
    }

    /// The address of `path` (no leading slash) on this server.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        format!("http://{}/{path}", self.address)
    }

    /// Every path requested so far, in order.
    #[must_use]
    pub fn requests(&self) -> Vec<String> {
        let requests = &self.site.requests;
        requests
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl Site {
    /// Answers requests on one connection until it closes.
    fn answer_all(&self, stream: &TcpStream) -> io::Result<()> {
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        stream.set_nodelay(true)?;
        let mut reader = BufReader::new(stream);
        while let Some(path) = read_request(&mut reader)? {
            let requests = self.requests.lock();
            requests
                .unwrap_or_else(PoisonError::into_inner)
                .push(path.clone());
            self.answer(stream, &path)?;
        }
        Ok(())
    }

    fn answer(&self, mut stream: &TcpStream, path: &str) -> io::Result<()> {
        let file = file_for(&self.root, path);
        let body = file.and_then(|file| Some((self.body(&file).ok()?, file)));
        let Some((body, file)) = body else {
            return stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
        };
        let how = match &self.compressed {
            Some(_) => "Content-Encoding: br\r\nCache-Control: max-age=600",
            None => "Cache-Control: no-store",
        };
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: {}\r\nContent-Length: {}\r\n{how}\r\n{}\r\n",
            content_type(&file),
            body.len(),
            self.headers
        );
        stream.write_all(head.as_bytes())?;
        stream.write_all(&body)
    }

    /// The body sent for a file.
    fn body(&self, file: &Path) -> io::Result<Vec<u8>> {
        let bytes = fs::read(file)?;
        let Some(compressed) = &self.compressed else {
            return Ok(bytes);
        };
        let mut compressed = compressed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(body) = compressed.get(file) {
            return Ok(body.clone());
        }
        let mut body = Vec::new();
        brotli::BrotliCompress(
            &mut &bytes[..],
            &mut body,
            &brotli::enc::BrotliEncoderParams::default(),
        )?;
        compressed.insert(file.to_path_buf(), body.clone());
        Ok(body)
    }
}

/// The path of the next request; `None` when the connection is closed or does not speak HTTP.
fn read_request(reader: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut first = String::new();
    reader.read_line(&mut first)?;
    let mut header = String::new();
    while reader.read_line(&mut header)? > 2 {
        header.clear();
    }
    Ok(first
        .strip_prefix("GET ")
        .and_then(|rest| rest.split_whitespace().next())
        .map(|target| {
            target
                .split(['?', '#'])
                .next()
                .unwrap_or_default()
                .to_owned()
        }))
}

/// The file that `path` names; `None` for files outside `root`.
fn file_for(root: &Path, path: &str) -> Option<PathBuf> {
    let path = unescaped(path)?;
    let relative = Path::new(path.trim_start_matches('/'));
    if !relative
        .components()
        .all(|part| matches!(part, Component::Normal(_)))
    {
        return None;
    }
    let file = root.join(relative);
    Some(if file.is_dir() {
        file.join("index.html")
    } else {
        file
    })
}

/// `path` with its percent codes, such as `%20`, decoded.
fn unescaped(path: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut parts = path.split('%');
    bytes.extend(parts.next()?.bytes());
    for part in parts {
        let (digits, rest) = part.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        bytes.extend(rest.bytes());
    }
    String::from_utf8(bytes).ok()
}

fn content_type(file: &Path) -> &'static str {
    match file.extension().and_then(|extension| extension.to_str()) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("wasm") => "application/wasm",
        Some("json") => "application/json",
        _ => "application/octet-stream",
    }
}
