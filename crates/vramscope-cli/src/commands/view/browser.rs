//! Opens the address in the user's browser without showing it to others.
//!
//! The arguments of a process can be read by every user of the machine, and the address holds the
//! secret. So the browser is given the name of a file that only its owner can read, which leads on.

use std::io::{self, Write};
use std::thread;
use std::time::Duration;

use tempfile::TempPath;

/// How long a browser may take to start before the file is removed.
const KEPT: Duration = Duration::from_mins(2);

/// Opens `address` in the default browser.
///
/// # Errors
/// When the file cannot be written or no browser can be started.
pub(crate) fn open(address: &str) -> io::Result<()> {
    let file = redirect(address)?;
    open::that_detached(&file)?;
    // If the process ends earlier, what stays behind leads nowhere.
    thread::Builder::new().spawn(move || {
        thread::sleep(KEPT);
        drop(file);
    })?;
    Ok(())
}

/// A page that leads to `address`, removed when dropped.
fn redirect(address: &str) -> io::Result<TempPath> {
    // Made anew with mode 0600.
    let mut file = tempfile::Builder::new()
        .prefix("vramscope-")
        .suffix(".html")
        .tempfile()?;
    let address = escaped(address);
    write!(
        file,
        "<!doctype html>\n<meta charset=\"utf-8\">\n<title>vramscope</title>\n\
         <meta http-equiv=\"refresh\" content=\"0; url={address}\">\n\
         <a href=\"{address}\">Open vramscope</a>\n"
    )?;
    Ok(file.into_temp_path())
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('"', "&quot;")
        .replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_the_owners_leads_to_the_address() {
        let file = redirect("http://127.0.0.1:1/secret/?src=a&src=b\"").unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(
            text.contains("url=http://127.0.0.1:1/secret/?src=a&amp;src=b&quot;\""),
            "{text}"
        );
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = std::fs::metadata(&file).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        let path = file.to_path_buf();
        drop(file);
        assert!(!path.exists());
    }
}
