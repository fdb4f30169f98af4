//! How to run the same query in another program: a dataset is plain Parquet.

use std::path::{Path, PathBuf};

use vramscope_core::tables::dataset::DatasetTable;

use crate::harmless::{self, quoted};
use crate::inputs::is_dataset;

/// The lines to paste into a shell: make a dataset of the files, unless they are one, then run the query.
pub(super) fn in_duckdb(sql: &str, files: &[PathBuf]) -> String {
    let (packed, dataset) = match files {
        [dataset] if is_dataset(dataset) => (String::new(), dataset.as_path()),
        _ => {
            let files = files.iter().map(|file| quoted(&file.to_string_lossy()));
            let files = files.collect::<Vec<_>>().join(" ");
            let packed = format!("vramscope fleet pack {files} -o packed.vset\n");
            (packed, Path::new("packed.vset"))
        }
    };
    let folder = harmless::printable(&dataset.to_string_lossy()).replace('\'', "''");
    let view = |table: DatasetTable| {
        let name = table.name();
        sql.contains(name).then(|| {
            format!(
                "create view {name} as select * from read_parquet('{folder}/{name}/rank=*/*.parquet', \
                 hive_types = {{'rank': bigint}});\n"
            )
        })
    };
    let views: String = DatasetTable::ALL.into_iter().filter_map(view).collect();
    let query = match sql {
        "-" => "-- the query",
        _ => sql.trim_end_matches([';', '\n']),
    };
    format!("{packed}duckdb <<'SQL'\n{views}{query};\nSQL")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snapshots_are_packed_first() {
        let files = ["a.pickle", "it's.pickle"].map(PathBuf::from);
        assert_eq!(
            in_duckdb("select max(live_bytes) from events", &files),
            "vramscope fleet pack a.pickle 'it'\\''s.pickle' -o packed.vset\n\
             duckdb <<'SQL'\n\
             create view events as select * from read_parquet('packed.vset/events/rank=*/*.parquet', hive_types = {'rank': bigint});\n\
             select max(live_bytes) from events;\n\
             SQL"
        );
    }

    #[test]
    fn a_dataset_is_asked_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("format"), "vramscope dataset 1\n").unwrap();
        let told = in_duckdb("select 1;\n", &[folder.path().to_owned()]);
        assert_eq!(told, "duckdb <<'SQL'\nselect 1;\nSQL");
    }
}
