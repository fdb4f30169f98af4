//! Opens the address in the user's browser without revealing it to others.
//!
//! Every user of a machine can read the arguments of all its processes, and the address holds the
//! secret. So the browser gets the name of a file that only its owner can read, which redirects it.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::thread;
use std::time::Duration;

/// The file is removed after this time, by which even a slow browser should have started.
const KEPT: Duration = Duration::from_mins(2);

/// Opens `address` in the default browser, through a new file that only its owner may read. The file is removed when
/// `name` is dropped.
///
/// # Errors
/// When there is no browser, or the file cannot be written. The message is for the user.
pub fn open<N: AsRef<Path> + Send + 'static>(
    address: &str,
    (mut file, name): (File, N),
) -> io::Result<()> {
    file.write_all(redirect(address).as_bytes())?;
    // The error is a list of launchers in Rust's notation.
    open::that_detached(name.as_ref()).map_err(|_launchers| {
        io::Error::other("no program that opens web pages was found, or none could start")
    })?;
    thread::Builder::new().spawn(move || {
        thread::sleep(KEPT);
        drop(name);
    })?;
    Ok(())
}

/// A page that redirects to `address`. The server's address has no characters that HTML would escape.
fn redirect(address: &str) -> String {
    format!(
        "<!doctype html>\n<meta charset=\"utf-8\">\n<title>vramscope</title>\n\
         <meta http-equiv=\"refresh\" content=\"0; url={address}\">\n\
         <a href=\"{address}\">Open vramscope</a>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_leads_to_the_address() {
        let text = redirect("http://127.0.0.1:1/5ec2e7/");
        assert!(text.contains("url=http://127.0.0.1:1/5ec2e7/\""), "{text}");
    }
}
