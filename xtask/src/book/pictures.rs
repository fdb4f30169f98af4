//! The book's pictures, light and dark, as `vramscope plot` draws them: what its viewers show, and a few more views.

use std::fs;
use std::process::Command;

use anyhow::{Result, bail};

use super::{attribute, copy_recordings, viewers};
use crate::page::replace_folder;
use crate::process::{root, run, target_dir};
use crate::program;
use xtask_page::samples;

/// The pictures' folder; relative to the repository's root.
const FOLDER: &str = "book/src/pictures";

/// Maximum size of a picture, because every clone contains it forever.
const MOST_BYTES: u64 = 60 << 10;

const GPT: &str = "samples/gpt_adamw.pickle.zst";
const CHECKPOINT: &str = "samples/gpt_checkpoint.pickle.zst";
const OOM: &str = "samples/out-of-memory.pickle.gz";

/// Pictures without a viewer by name, with arguments of `vramscope plot`.
const MORE: [(&str, &[&str]); 4] = [
    ("segments", &["--view=segments", OOM]),
    ("allocator", &["--view=allocator", "--at=oom", OOM]),
    ("flame", &["--view=flame", GPT]),
    ("compare", &["--view=compare", GPT, CHECKPOINT]),
];

/// Draws all pictures again.
pub(super) fn draw() -> Result<()> {
    let program = program::build(None, "dev")?;
    let site = target_dir().join("book-samples");
    replace_folder(&site)?;
    samples::write(&site.join("samples"))?;
    copy_recordings(&site)?;
    replace_folder(&root().join(FOLDER))?;
    let plot = |name: &str, arguments: &[&str]| {
        for theme in ["light", "dark"] {
            let file = root().join(FOLDER).join(format!("{name}-{theme}.svg"));
            let mut plot = Command::new(&program);
            plot.current_dir(&site).arg("plot").args(arguments);
            plot.args(["--size=900x320", "--theme", theme, "-o"]);
            run(plot.arg(&file))?;
            let bytes = fs::metadata(&file)?.len();
            if bytes > MOST_BYTES {
                bail!("{} has {bytes} bytes, at most {MOST_BYTES}", file.display());
            }
        }
        Ok(())
    };
    for (name, arguments) in MORE {
        plot(name, arguments)?;
    }
    for viewer in viewers()? {
        let [name, view, file] = ["poster", "view", "src"].map(|name| attribute(&viewer, name));
        let name = name.trim_start_matches("pictures/");
        let view = format!("--view={view}");
        let file = file.trim_start_matches("../");
        plot(name.trim_end_matches("-light.svg"), &[&view, file])?;
    }
    Ok(())
}
