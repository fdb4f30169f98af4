//! Patterns of code paths: whole components, from the file's name upwards, and never beyond the package.
//!
//! `torch/optim/*.py` is any file in the folder `optim` of the package `torch`, wherever it is installed;
//! `*_optimizer.py` is any file with such a name; `deepspeed/runtime/**` is any file below that folder. Components
//! above `site-packages` or `dist-packages` depend on the machine and are ignored.

/// The folders into which packages are installed.
const INSTALLED: [&str; 2] = ["site-packages", "dist-packages"];

/// A file's path from the folder of installed packages on, with forward slashes.
pub(super) struct CodePath {
    folder: String,
    name: String,
}

impl CodePath {
    pub(super) fn of(file: &str) -> Self {
        let path = file.replace('\\', "/");
        let mut parts: Vec<&str> = path
            .rsplit('/')
            .take_while(|part| !INSTALLED.contains(part))
            .collect();
        parts.reverse();
        let name = parts.pop().unwrap_or_default().to_owned();
        Self {
            folder: parts.join("/"),
            name,
        }
    }

    /// Whether the path ends as a pattern says. `*` stands for any text in the file's name, `**` at the end for any file
    /// below.
    pub(super) fn fits(&self, pattern: &str) -> bool {
        match pattern.rsplit_once('/') {
            None => is_like(&self.name, pattern),
            Some((folder, "**")) => self.is_below(folder),
            Some((folder, name)) => is_like(&self.name, name) && is_end(&self.folder, folder),
        }
    }

    /// Whether the file is in a folder, or below it.
    fn is_below(&self, folder: &str) -> bool {
        let mut rest = self.folder.as_str();
        loop {
            let below = rest.strip_prefix(folder);
            if below.is_some_and(|below| below.is_empty() || below.starts_with('/')) {
                return true;
            }
            match rest.split_once('/') {
                Some((_, inside)) => rest = inside,
                None => return false,
            }
        }
    }
}

/// Whether a path ends with whole components.
fn is_end(path: &str, components: &str) -> bool {
    let before = path.strip_suffix(components);
    before.is_some_and(|before| before.is_empty() || before.ends_with('/'))
}

/// Whether a name matches a pattern in which `*` stands for any text.
fn is_like(name: &str, pattern: &str) -> bool {
    let Some((first, pattern)) = pattern.split_once('*') else {
        return name == pattern;
    };
    let Some(mut rest) = name.strip_prefix(first) else {
        return false;
    };
    let mut pattern = pattern;
    while let Some((piece, after)) = pattern.split_once('*') {
        let Some(at) = rest.find(piece) else {
            return false;
        };
        (rest, pattern) = (&rest[at + piece.len()..], after);
    }
    rest.ends_with(pattern)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_of_the_path_s_end() {
        let fits = |file: &str, pattern: &str| CodePath::of(file).fits(pattern);
        let adam = "/home/me/venv/lib/python3.12/site-packages/torch/optim/adam.py";
        assert!(fits(adam, "torch/optim/*.py"));
        assert!(fits(adam, "torch/optim/adam*.py"));
        assert!(fits(adam, "adam.py"));
        assert!(fits("torch/optim/adam.py", "torch/optim/adam.py"));
        assert!(fits(
            r"C:\env\Lib\site-packages\torch\optim\adam.py",
            "torch/optim/*.py"
        ));
        assert!(!fits("/home/me/torch/optim/x/adam.py", "torch/optim/*.py"));
        assert!(!fits("/home/me/mytorch/optim/adam.py", "torch/optim/*.py"));
        assert!(!fits("/home/me/optim/model.py", "optim"));
        assert!(fits(
            "/x/dist-packages/deepspeed/runtime/zero/stage3.py",
            "deepspeed/runtime/**"
        ));
        assert!(!fits(
            "/x/deepspeed/runtime/site-packages/mine/a.py",
            "deepspeed/runtime/**"
        ));
        assert!(!fits("deepspeed/runtime", "deepspeed/runtime/**"));
        assert!(fits("/p/my_kv_cache_v2.py", "*kv_cache*.py"));
        assert!(fits("/p/kv_cache.py", "*kv_cache*.py"));
        assert!(!fits("/my_kv_cache_paper/train.py", "*kv_cache*.py"));
        assert!(!fits("/p/kv.py", "*kv_cache*.py"));
        assert!(fits("/p/bf16_optimizer.py", "*_optimizer.py"));
        assert!(!fits("/p/optimizers.py", "*_optimizer.py"));
    }
}
