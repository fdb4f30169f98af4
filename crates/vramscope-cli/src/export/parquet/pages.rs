//! The pages of a column in a row group.

use std::io;

use bytes::Bytes;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::column::page::{CompressedPage, Page, PageWriter as _};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::ParquetError;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::statistics::Statistics;
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;

pub(super) struct Encoded {
    /// The distinct values, and how many there are.
    pub(super) dictionary: Option<(Vec<u8>, usize)>,
    pub(super) encoding: Encoding,
    pub(super) statistics: Statistics,
}

impl Encoded {
    pub(super) fn without_dictionary(encoding: Encoding, statistics: Statistics) -> Self {
        Self {
            dictionary: None,
            encoding,
            statistics,
        }
    }

    /// Makes the pages, with `data` as the levels and values.
    pub(super) fn chunk(
        self,
        rows: usize,
        data: Vec<u8>,
        of_schema: ColumnDescPtr,
        packer: &mut Packer,
    ) -> Result<(Bytes, ColumnCloseResult), ParquetError> {
        let mut sink = TrackedWrite::new(Vec::new());
        let mut pages = SerializedPageWriter::new(&mut sink);
        let mut uncompressed_bytes = 0;
        let mut encodings = vec![Encoding::RLE, self.encoding];
        let has_dictionary = self.dictionary.is_some();
        if let Some((plain, count)) = self.dictionary {
            let page = Page::DictionaryPage {
                buf: packer.pack(&plain)?,
                num_values: count as u32,
                encoding: Encoding::PLAIN,
                is_sorted: false,
            };
            let written = pages.write_page(CompressedPage::new(page, plain.len()))?;
            uncompressed_bytes += written.uncompressed_size;
            encodings.push(Encoding::PLAIN);
        }
        let page = Page::DataPage {
            buf: packer.pack(&data)?,
            num_values: rows as u32,
            encoding: self.encoding,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        };
        let written = pages.write_page(CompressedPage::new(page, data.len()))?;
        uncompressed_bytes += written.uncompressed_size;
        let bytes = Bytes::from(sink.into_inner()?);
        let metadata = ColumnChunkMetaData::builder(of_schema)
            .set_encodings(encodings)
            .set_compression(Compression::ZSTD(packer.level))
            .set_num_values(rows as i64)
            .set_total_compressed_size(bytes.len() as i64)
            .set_total_uncompressed_size(uncompressed_bytes as i64)
            .set_dictionary_page_offset(has_dictionary.then_some(0))
            .set_data_page_offset(written.offset as i64)
            .set_statistics(self.statistics)
            .build()?;
        let close = ColumnCloseResult {
            bytes_written: bytes.len() as u64,
            rows_written: rows as u64,
            metadata,
            bloom_filter: None,
            column_index: None,
            offset_index: None,
        };
        Ok((bytes, close))
    }
}

/// Compresses pages, sharing one state, with a buffer for one column at a time.
pub(super) struct Packer {
    level: ZstdLevel,
    zstd: zstd::bulk::Compressor<'static>,
    pub(super) integers: Vec<i64>,
}

impl Packer {
    pub(super) fn new(level: i32) -> io::Result<Self> {
        Ok(Self {
            level: ZstdLevel::try_new(level).map_err(io::Error::other)?,
            zstd: zstd::bulk::Compressor::new(level)?,
            integers: Vec::new(),
        })
    }

    fn pack(&mut self, bytes: &[u8]) -> Result<Bytes, ParquetError> {
        let packed = self.zstd.compress(bytes);
        Ok(packed
            .map_err(|error| ParquetError::External(Box::new(error)))?
            .into())
    }
}
