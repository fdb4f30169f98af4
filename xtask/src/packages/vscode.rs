//! The extension of VS Code: packed, and tried in a VS Code for browsers.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::{VERSION, stage, with_tools};
use crate::fingerprint::files_under;
use crate::page::remove_mini;
use crate::process::{find_program, root, run, target_dir};

/// Packs the extension with this page inside, and returns the path of the `.vsix`.
pub(crate) fn pack(page: &Path) -> Result<PathBuf> {
    let folder = target_dir().join("vscode");
    let staged = folder.join("extension");
    let manifest = stage("vscode", page, &staged)?;
    remove_mini(&staged.join("site"))?;
    let path = folder.join(format!("vramscope-{VERSION}.vsix"));
    let file = File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
    let mut zip = ZipWriter::new(file);
    let mut add = |name: &str, content: &[u8]| -> Result<()> {
        zip.start_file(name, SimpleFileOptions::default())?;
        Ok(zip.write_all(content)?)
    };
    add("extension.vsixmanifest", about(&manifest).as_bytes())?;
    add("[Content_Types].xml", CONTENT_TYPES.as_bytes())?;
    for file in files_under(&staged)? {
        let inside = file.strip_prefix(&folder)?;
        let parts: Vec<_> = inside.iter().map(|part| part.to_string_lossy()).collect();
        add(&parts.join("/"), &fs::read(&file)?)?;
    }
    zip.finish()?;
    Ok(path)
}

/// All that the format wants, for the endings of the package's files.
const CONTENT_TYPES: &str = r#"<?xml version="1.0" encoding="utf-8"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
<Default Extension=".vsixmanifest" ContentType="text/xml"/>
<Default Extension=".json" ContentType="application/json"/>
<Default Extension=".js" ContentType="application/javascript"/>
<Default Extension=".css" ContentType="text/css"/>
<Default Extension=".html" ContentType="text/html"/>
<Default Extension=".md" ContentType="text/markdown"/>
<Default Extension=".wasm" ContentType="application/wasm"/>
<Default Extension=".gz" ContentType="application/gzip"/>
<Default Extension=".zst" ContentType="application/zstd"/>
</Types>
"#;

/// What VS Code reads before it unpacks the extension. None of our texts has a character that XML escapes.
fn about(manifest: &Value) -> String {
    let text = |key: &str| manifest[key].as_str().unwrap_or_default();
    let list = |key: &str| {
        let words = manifest[key].as_array().into_iter().flatten();
        let words: Vec<_> = words.filter_map(Value::as_str).collect();
        words.join(",")
    };
    let [name, publisher, title, description] =
        ["name", "publisher", "displayName", "description"].map(text);
    let (tags, categories, kind) = (list("keywords"), list("categories"), list("extensionKind"));
    let engine = manifest["engines"]["vscode"].as_str().unwrap_or_default();
    format!(
        r#"<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">
<Metadata>
<Identity Language="en-US" Id="{name}" Version="{VERSION}" Publisher="{publisher}"/>
<DisplayName>{title}</DisplayName>
<Description xml:space="preserve">{description}</Description>
<Tags>{tags},__web_extension</Tags>
<Categories>{categories}</Categories>
<Properties>
<Property Id="Microsoft.VisualStudio.Code.Engine" Value="{engine}"/>
<Property Id="Microsoft.VisualStudio.Code.ExtensionKind" Value="{kind},web"/>
</Properties>
</Metadata>
<Installation><InstallationTarget Id="Microsoft.VisualStudio.Code"/></Installation>
<Dependencies/>
<Assets>
<Asset Type="Microsoft.VisualStudio.Code.Manifest" Path="extension/package.json" Addressable="true"/>
<Asset Type="Microsoft.VisualStudio.Services.Content.Details" Path="extension/README.md" Addressable="true"/>
</Assets>
</PackageManifest>
"#
    )
}

/// Opens a snapshot in a VS Code for browsers that has the extension.
pub(crate) fn test(page: &Path, chromium: &Path) -> Result<()> {
    let folder = target_dir().join("hosts/vscode");
    let source = root().join("tests/hosts/vscode");
    let tools = "VS Code for browsers (100 MB)";
    let is_there = with_tools(&source, &folder, tools, "the VS Code extension")?;
    ensure!(is_there, "VS Code needs npm and a network");
    pack(page)?;
    let mut node = Command::new(find_program(&["node"]).context("no node here")?);
    node.args(["--test", "extension.test.mjs"])
        .current_dir(&folder);
    node.env("CHROME", chromium);
    node.env("EXTENSION", target_dir().join("vscode/extension"));
    node.env("FIXTURES", root().join("tests/fixtures"));
    // As all tests in a browser, it may meet a busy machine and is tried twice.
    run(&mut node).or_else(|_| run(&mut node))
}
