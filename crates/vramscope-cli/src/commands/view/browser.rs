//! Opens the address in the user's browser without revealing it to others.
//!
//! Every user of a machine can read the arguments of all its processes, and the address holds the
//! secret. So the browser gets the name of a file that only its owner can read, which redirects it.

use std::env;
use std::io::{self, Write};
use std::thread;
use std::time::Duration;

use crate::temporary::Temporary;

/// The file is removed after this time, in which a slow browser should have started.
const KEPT: Duration = Duration::from_mins(2);

/// Opens `address` in the default browser.
///
/// # Errors
/// When there is none, or the file for it cannot be written. In words for the user.
pub(crate) fn open(address: &str) -> io::Result<()> {
    let file = redirect(address)?;
    // Its error is a list of launchers in Rust's notation.
    open::that_detached(file.as_ref()).map_err(|_launchers| {
        io::Error::other("no program that opens web pages was found, or none could start")
    })?;
    thread::Builder::new().spawn(move || {
        thread::sleep(KEPT);
        drop(file);
    })?;
    Ok(())
}

/// A page that leads to `address`, removed when dropped. The server's address holds nothing that HTML would escape.
fn redirect(address: &str) -> io::Result<Temporary> {
    // `tempfile` creates it with mode 0600.
    let mut name = tempfile::Builder::new();
    name.prefix("vramscope-").suffix(".html");
    let (mut file, path) = Temporary::create(&name, &env::temp_dir())?;
    write!(
        file,
        "<!doctype html>\n<meta charset=\"utf-8\">\n<title>vramscope</title>\n\
         <meta http-equiv=\"refresh\" content=\"0; url={address}\">\n\
         <a href=\"{address}\">Open vramscope</a>\n"
    )?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_the_owners_leads_to_the_address() {
        let file = redirect("http://127.0.0.1:1/5ec2e7/").unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.contains("url=http://127.0.0.1:1/5ec2e7/\""), "{text}");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = std::fs::metadata(&file).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        let path = file.as_ref().to_owned();
        drop(file);
        assert!(!path.exists());
    }
}
