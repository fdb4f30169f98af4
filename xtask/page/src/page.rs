//! Builds the page: wasm programs, JavaScript glue, static files, samples.
//!
//! The result is a folder for any static host: `index.html`, `mini.html`, `viewer.js`, `offline.js`, `samples/`, and `app-<hash>/`
//! with files that can be cached forever, because the hash depends on their content.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use wasm_bindgen_cli_support::Bindgen;

use crate::process::{root, run, target_dir};
use crate::toolchain::{self, Toolchain};
use crate::{fingerprint, samples};

/// A way to build the page.
#[derive(Clone, Copy)]
pub struct Profile {
    /// The profile's name in the workspace's `Cargo.toml`.
    pub name: &'static str,
    /// How long a build takes, as a message.
    pub time: &'static str,
    /// The page's folder inside the target directory.
    pub folder: &'static str,
}

/// For this machine: quick to build and to build again.
pub const FAST: Profile = Profile {
    name: "wasm-fast",
    time: "about two minutes the first time on two cores, some seconds after a change",
    folder: "page-fast",
};

/// For hosts: optimised as a whole.
pub const FULL: Profile = Profile {
    name: "wasm",
    time: "as hosts get it, some five minutes on two cores",
    folder: "page",
};

/// The wasm programs: the page, what its workers run, and an embedded viewer's first picture.
const PROGRAMS: [&str; 4] = ["vramscope_app", WORKERS[0], WORKERS[1], MINI_PROGRAM];

/// The programs of workers.
const WORKERS: [&str; 2] = ["vramscope_worker", "vramscope_planner"];

/// The crates of all programs.
pub const PROGRAM_CRATES: [&str; 3] = ["vramscope-app", "vramscope-worker", "vramscope-planner"];

/// The program of an embedded viewer's first picture.
const MINI_PROGRAM: &str = "vramscope_mini";

/// The page's crates.
pub const CRATES: [&str; 10] = [
    "vramscope-app",
    "vramscope-core",
    "vramscope-inductor",
    "vramscope-plan",
    "vramscope-planner",
    "vramscope-port",
    "vramscope-protocol",
    "vramscope-text",
    "vramscope-view",
    "vramscope-worker",
];

/// The page's sources, in addition to its crates.
const SOURCES: [&str; 10] = [
    ".cargo/config.toml",
    "Cargo.lock",
    "Cargo.toml",
    // Writes the samples.
    "crates/vramscope-synth",
    INDEX,
    MINI,
    "www",
    "xtask/page/src",
    // Samples, too.
    "tests/fixtures/planning/graphs",
    "tests/fixtures/roles/rules",
];

pub const INDEX: &str = "index.html";

/// The page of an embedded viewer's first picture.
const MINI: &str = "mini.html";

/// The folder of the files that both pages load, before it is renamed by its content.
const APP: &str = "app";

/// Keeps the page for visits without a network.
const OFFLINE: &str = "offline.js";

/// The element that shows the page inside others.
const VIEWER: &str = "viewer.js";

/// Returns the folder with the page and the start page's samples. Builds it unless it was already built from the same
/// sources by the same compiler.
pub fn build(profile: Profile) -> Result<PathBuf> {
    let page = build_bare(profile)?;
    let samples = page.join("samples");
    if !samples.is_dir() {
        let staging = page.with_extension("samples");
        replace_folder(&staging)?;
        samples::write(&staging)?;
        fs::rename(&staging, &samples)?;
    }
    Ok(page)
}

/// Like [`build`], but samples are there only if they were before.
pub fn build_bare(profile: Profile) -> Result<PathBuf> {
    let folder = target_dir().join(profile.folder);
    let stamp = folder.with_extension("fingerprint");
    let toolchain = toolchain::find()?;
    let fingerprint = fingerprint(&sources(), profile.name, &toolchain.version()?)?;
    if fs::read_to_string(&stamp).is_ok_and(|built| built == fingerprint) && folder.is_dir() {
        return Ok(folder);
    }
    println!("building the page: {}", profile.time);
    let mut build = toolchain.cargo("build");
    for name in PROGRAM_CRATES {
        build.args(["--package", name]);
    }
    run(build.args(["--bins", "--profile", profile.name]))?;
    let staging = folder.with_extension("new");
    let app = staging.join(APP);
    replace_folder(&staging)?;
    replace_folder(&app)?;
    write_script("page.js", &app)?;
    for name in ["app.webmanifest", "icon.svg"] {
        fs::copy(root().join("www").join(name), app.join(name))?;
    }
    for module in modules(profile, toolchain) {
        write_glue(&module, &app)?;
    }
    // Other people's pages refer to this address, so it stays the same.
    write_script(VIEWER, &staging)?;
    let pages = [INDEX, MINI];
    let html = pages.map(|page| with_one_style(page, &app));
    let name = name_by_content(&app)?;
    for (page, html) in pages.into_iter().zip(html) {
        fs::write(
            staging.join(page),
            html?.replace("\"www/", &format!("\"{name}/")),
        )?;
    }
    write_offline(&staging)?;
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::rename(&staging, &folder).with_context(|| format!("cannot write {}", folder.display()))?;
    fs::write(&stamp, fingerprint)?;
    Ok(folder)
}

/// Writes a script of `www` into `folder`.
fn write_script(name: &str, folder: &Path) -> Result<()> {
    let script = read(&root().join("www").join(name))?;
    Ok(fs::write(folder.join(name), bare_script(&script))?)
}

/// Writes the service worker into the page's folder, with the files that the page needs. Its version is that of the index, which
/// names the folder of the others by their content.
pub fn write_offline(page: &Path) -> Result<()> {
    let version = fingerprint::of(&[], &read(&page.join(INDEX))?)?;
    let mut files = Vec::new();
    for file in fingerprint::files_under(page)? {
        let name = file.strip_prefix(page)?.to_string_lossy().into_owned();
        if name.starts_with("app-") && !is_of_mini(&file) {
            files.push(name);
        }
    }
    write_script(OFFLINE, page)?;
    let script = read(&page.join(OFFLINE))?
        .replace("VERSION = \"\"", &format!("VERSION = {version:?}"))
        .replace("FILES = []", &format!("FILES = {files:?}"));
    Ok(fs::write(page.join(OFFLINE), script)?)
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

fn sources() -> Vec<PathBuf> {
    let crates = CRATES.iter().map(|name| root().join("crates").join(name));
    let others = SOURCES.iter().map(|source| root().join(source));
    crates.chain(others).collect()
}

fn fingerprint(sources: &[PathBuf], profile: &str, compiler: &str) -> Result<String> {
    fingerprint::of(sources, &format!("{profile}\n{compiler}"))
}

/// Where the compiler writes the wasm modules.
fn modules(profile: Profile, toolchain: Toolchain) -> [PathBuf; PROGRAMS.len()] {
    let folder = target_dir().join(toolchain.folder()).join(toolchain::WASM);
    PROGRAMS.map(|program| folder.join(profile.name).join(format!("{program}.wasm")))
}

/// The wasm modules of a built page as the compiler wrote them, with the names of their functions.
pub fn compiled(profile: Profile) -> Result<[PathBuf; PROGRAMS.len()]> {
    Ok(modules(profile, toolchain::find()?))
}

/// Writes a wasm module, and the JavaScript module that loads it, into `out`.
fn write_glue(module: &Path, out: &Path) -> Result<()> {
    // Its error type cannot be borrowed as a standard one.
    let told = |error| anyhow!("wasm-bindgen: {error:#}");
    let name = module.file_stem().unwrap_or_default().to_string_lossy();
    let mut bindgen = Bindgen::new();
    bindgen.input_path(module).out_name(&name).typescript(false);
    bindgen
        .remove_name_section(true)
        .remove_producers_section(true);
    let output = bindgen.web(true).and_then(Bindgen::generate_output);
    let mut output = output.map_err(told)?;
    let mut script = output.js().to_owned();
    if WORKERS.contains(&&*name) {
        script += IN_WORKERS;
    }
    // Names with hashes in both files, which compress badly, are replaced.
    for (number, import) in output.wasm_mut().imports.iter_mut().enumerate() {
        let short = format!("_{number}_");
        script = script.replace(&import.name, &short);
        import.name = short;
    }
    output.emit(out).map_err(told)?;
    let to = out.join(format!("{name}.js"));
    Ok(fs::write(to, bare_script(&script))?)
}

/// A worker's entry, in the script of its program: the first message is the module that the page compiled, and Rust
/// receives the others. Synchronous, so that no message is lost before it listens.
const IN_WORKERS: &str = "
if (!globalThis.document) self.onmessage = ({ data }) => {
  initSync({ module: data });
  start_worker();
};
";

/// Joins a page's style sheets, in order, into one file in `app`, since each costs a request before anything is drawn.
/// Returns the page with a link to that file only, and without comments.
fn with_one_style(page: &str, app: &Path) -> Result<String> {
    const LINK: &str = "<link rel=\"stylesheet\" href=\"";
    let html = read(&root().join(page))?;
    let joined = page.replace(".html", ".css");
    let mut lines = Vec::new();
    let mut styles = String::new();
    for line in html.lines() {
        // A comment on a line of its own is for developers.
        if line.trim_start().starts_with("<!--") && line.ends_with("-->") {
            continue;
        }
        let link = line.trim_start().strip_prefix(LINK);
        let Some((path, _)) = link.and_then(|link| link.split_once('"')) else {
            lines.push(line.to_owned());
            continue;
        };
        if styles.is_empty() {
            lines.push(line.replace(path, &format!("www/{joined}")));
        }
        styles += &without_comments(&read(&root().join(path))?);
    }
    fs::write(app.join(joined), styles)?;
    Ok(lines.join("\n") + "\n")
}

/// A style sheet without comments and indentation. None of ours has `/*` in a text.
fn without_comments(style: &str) -> String {
    let mut pieces = style.split("/*");
    let mut bare = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        bare += piece.split_once("*/").map_or("", |(_, after)| after);
    }
    let lines = bare.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join("\n") + "\n"
}

/// A script without indentation, and without comments on lines of their own. None of our scripts, nor wasm-bindgen's,
/// has a text of several lines.
fn bare_script(script: &str) -> String {
    let mut bare = String::new();
    let mut is_comment = false;
    for line in script.lines().map(str::trim) {
        is_comment |= line.starts_with("/*");
        if !is_comment && !line.is_empty() && !line.starts_with("//") {
            bare += line;
            bare.push('\n');
        }
        is_comment &= !line.contains("*/");
    }
    bare
}

/// Renames the folder of loaded files by a hash of its content, and returns its name.
fn name_by_content(app: &Path) -> Result<String> {
    // The hash includes the name of the staging folder, which is the same for every build.
    let name = format!("{APP}-{}", fingerprint::of(&[app.to_path_buf()], "")?);
    fs::rename(app, app.with_file_name(&name))?;
    Ok(name)
}

/// Removes the files that only an embedded viewer's first picture needs, from a copy of the page that nobody embeds.
pub fn remove_mini(page: &Path) -> Result<()> {
    for file in fingerprint::files_under(page)? {
        if is_of_mini(&file) {
            fs::remove_file(file)?;
        }
    }
    Ok(())
}

/// Whether only an embedded viewer's first picture needs a file.
fn is_of_mini(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with("mini.") || name.starts_with(MINI_PROGRAM)
}

/// Creates an empty folder, removing an old one.
pub fn replace_folder(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)
            .with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))
}

/// Copies the files below `from` to the same paths below `to`.
pub fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    for file in fingerprint::files_under(from)? {
        let target = to.join(file.strip_prefix(from)?);
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::copy(&file, &target)
            .with_context(|| format!("cannot copy {} to {}", file.display(), target.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{FAST, bare_script, fingerprint, sources, without_comments};
    use crate::process::root;
    use crate::toolchain::Toolchain;

    #[test]
    fn style_sheets_lose_their_comments_alone() {
        assert_eq!(
            without_comments("/* a */\na {\n  /* b\n */ color: red; /* c */\n}\n\nb{}"),
            "a {\ncolor: red;\n}\nb{}\n"
        );
    }

    #[test]
    fn scripts_lose_comments_on_lines_of_their_own() {
        assert_eq!(
            bare_script("/**\n * a\n */\nif (a) {\n  // b\n  c(\"//\"); /* d */\n}\n"),
            "if (a) {\nc(\"//\"); /* d */\n}\n"
        );
    }

    #[test]
    fn all_sources_exist() {
        for source in sources() {
            assert!(source.exists(), "{}", source.display());
        }
    }

    #[test]
    fn another_compiler_or_profile_builds_the_page_anew() {
        let sources = [root().join("index.html")];
        let of = |profile: &str, compiler: &str| fingerprint(&sources, profile, compiler).unwrap();
        let version = Toolchain::Active.version().unwrap();
        assert!(version.contains("rustc "), "{version}");
        let built = of(FAST.name, &version);
        assert_eq!(built, of(FAST.name, &version));
        assert_ne!(built, of(FAST.name, &version.replace("rustc ", "rustc 2.")));
        assert_ne!(built, of("wasm", &version));
    }

    #[test]
    fn the_same_compiler_from_debian_is_another() {
        // Debian's toolchain builds the standard library as well.
        let versions = [Toolchain::Active, Toolchain::Debian].map(|toolchain| toolchain.version());
        let [Ok(active), Ok(debian)] = versions else {
            return;
        };
        assert_ne!(active, debian);
    }
}
