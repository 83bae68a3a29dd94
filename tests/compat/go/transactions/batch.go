package main

import (
	"encoding/binary"
	"hash/crc32"
	"time"
)

// withSize puts the length before the batches of a Produce request, which kafka-go leaves to the caller.
func withSize(batches []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(batches))), batches...)
}

// batchOf encodes one transactional batch, since kafka-go cannot: no key, no headers, the present time.
func batchOf(producerID int, producerEpoch int, sequence int32, values ...[]byte) []byte {
	var records []byte
	for i, value := range values {
		var record []byte
		record = append(record, 0)                     // attributes
		record = binary.AppendVarint(record, 0)        // milliseconds after the first
		record = binary.AppendVarint(record, int64(i)) // offsets after the first
		record = binary.AppendVarint(record, -1)       // no key
		record = binary.AppendVarint(record, int64(len(value)))
		record = append(record, value...)
		record = binary.AppendVarint(record, 0) // no headers
		records = append(binary.AppendVarint(records, int64(len(record))), record...)
	}
	now := uint64(time.Now().UnixMilli())
	var covered []byte                                     // by the checksum
	covered = binary.BigEndian.AppendUint16(covered, 1<<4) // transactional
	covered = binary.BigEndian.AppendUint32(covered, uint32(len(values)-1))
	covered = binary.BigEndian.AppendUint64(covered, now)
	covered = binary.BigEndian.AppendUint64(covered, now)
	covered = binary.BigEndian.AppendUint64(covered, uint64(producerID))
	covered = binary.BigEndian.AppendUint16(covered, uint16(producerEpoch))
	covered = binary.BigEndian.AppendUint32(covered, uint32(sequence))
	covered = binary.BigEndian.AppendUint32(covered, uint32(len(values)))
	covered = append(covered, records...)

	batch := make([]byte, 8, 21+len(covered)) // the base offset is the broker's to give
	batch = binary.BigEndian.AppendUint32(batch, uint32(9+len(covered)))
	batch = binary.BigEndian.AppendUint32(batch, 0xffffffff) // no leader epoch
	batch = append(batch, 2)                                 // the format's version
	batch = binary.BigEndian.AppendUint32(batch, crc32.Checksum(covered, crc32.MakeTable(crc32.Castagnoli)))
	return append(batch, covered...)
}
