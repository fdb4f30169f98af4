//! The files that the user named. The server can read no others.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// The characters that stay unencoded in a path; none of them has a meaning in HTML.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// One file that the server offers.
#[derive(Debug)]
pub struct Served {
    /// The last path component, for the page's tab.
    pub(crate) name: String,
    content: Content,
    /// For an overview of ranks: their snapshots, by the path that it names.
    ranks: HashMap<String, PathBuf>,
}

#[derive(Debug)]
enum Content {
    /// Opened for each request, so that a file that grows or is replaced can be reloaded.
    Path(PathBuf),
    /// Bytes from a pipe, which can be read only once.
    Spooled(Vec<u8>),
}

/// A file's bytes and their number.
pub(crate) type Stream<'a> = (Box<dyn Read + 'a>, u64);

impl Served {
    /// A file that the user named, opened. Anything but a regular file, such as a pipe, is read to its end now.
    /// `ranks`: for an overview of ranks, their snapshots by the path that it names.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn of_file(
        path: &Path,
        mut file: File,
        ranks: HashMap<String, PathBuf>,
    ) -> io::Result<Self> {
        let content = match file.metadata()?.is_file() {
            // The server's working folder may change, so relative paths are resolved now.
            true => Content::Path(std::path::absolute(path)?),
            false => Content::Spooled(spool(&mut file)?),
        };
        let name = path.file_name().unwrap_or(path.as_os_str());
        Ok(Self {
            name: name.to_string_lossy().into_owned(),
            content,
            ranks,
        })
    }

    /// A stream, such as standard input, read to its end.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn of_stream(name: &str, mut stream: impl Read) -> io::Result<Self> {
        Ok(Self {
            name: name.to_owned(),
            content: Content::Spooled(spool(&mut stream)?),
            ranks: HashMap::new(),
        })
    }

    /// The encoded path relative to the page: `files/0/snapshot.pickle`.
    fn address(&self, index: usize) -> String {
        format!("files/{index}/{}", utf8_percent_encode(&self.name, PLAIN))
    }

    /// The file; `None` for content of a pipe.
    pub(crate) fn path(&self) -> Option<&Path> {
        match &self.content {
            Content::Path(path) => Some(path),
            Content::Spooled(_) => None,
        }
    }

    pub(crate) fn open(&self) -> io::Result<Stream<'_>> {
        match &self.content {
            Content::Spooled(bytes) => Ok((Box::new(bytes.as_slice()), bytes.len() as u64)),
            Content::Path(path) => stream(path),
        }
    }

    /// Opens a rank's snapshot for reading; `None` if the overview does not name this path, or the file was not found.
    pub(crate) fn open_rank(&self, path: &str) -> Option<io::Result<Stream<'_>>> {
        self.ranks.get(path).map(|path| stream(path))
    }
}

fn stream(path: &Path) -> io::Result<Stream<'static>> {
    let file = open_regular(path)?;
    let length = file.metadata()?.len();
    // The announced length holds even if the file grows meanwhile.
    Ok((Box::new(file.take(length)), length))
}

/// Opens a file that must still be a regular one: opening a pipe in its place would wait for a writer.
fn open_regular(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK);
    let file = options.open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::ErrorKind::InvalidInput.into()),
    }
}

fn spool(input: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    input.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The elements in the page's head that name the files it opens. Only this server's own page can contain them, so it
/// opens these without asking, unlike those in a link (`?src=`).
pub(crate) fn links(files: &[Served]) -> String {
    let addresses = (0..).zip(files).map(|(index, file)| file.address(index));
    let links = addresses.map(|address| format!("<link rel=\"snapshot\" href=\"{address}\">\n"));
    links.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn served(name: &str) -> Served {
        Served::of_stream(name, io::empty()).unwrap()
    }

    #[test]
    fn names_stay_in_their_attribute() {
        assert_eq!(links(&[]), "");
        assert_eq!(
            links(&[served("a.pickle"), served("b%&\"><script>é.p")]),
            "<link rel=\"snapshot\" href=\"files/0/a.pickle\">\n\
             <link rel=\"snapshot\" href=\"files/1/b%25%26%22%3E%3Cscript%3E%C3%A9.p\">\n"
        );
    }
}
