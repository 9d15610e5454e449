<?php
// proof.php DSN USER PASSWORD: counts a delivery, in a transaction that proves its lock.

// page: begin
const PROOF = [
    'pgsql' => 'SELECT leasehold_prove(?, ?, ?)',
    'mysql' => 'SELECT 1 FROM leasehold_lock WHERE lock_key = ? AND owner = UNHEX(?)
                AND fence = CAST(? AS SIGNED) LOCK IN SHARE MODE',
    'sqlite' => 'SELECT 1 FROM leasehold_lock WHERE lock_key = CAST(? AS BLOB)
                 AND lower(hex(owner)) = ? AND fence = CAST(? AS INTEGER)',
];

function prove(PDO $db): void {
    $lease = [getenv('LEASEHOLD_KEY'), getenv('LEASEHOLD_OWNER'), getenv('LEASEHOLD_TOKEN')];
    $proof = $db->prepare(PROOF[$db->getAttribute(PDO::ATTR_DRIVER_NAME)]);
    $proof->execute($lease); // PostgreSQL raises an error where the lock is lost
    if ($proof->fetch() === false) {
        throw new RuntimeException("the lock '$lease[0]' is no longer held under token $lease[2]");
    }
}

function deliver(PDO $db): void {
    $db->beginTransaction();
    try {
        $db->exec('UPDATE stock SET delivered = delivered + 1');
        prove($db);
        $db->commit();
    } catch (Throwable $failure) {
        $db->rollBack();
        throw $failure;
    }
}
// page: end

[, $dsn, $user, $password] = $argv;
deliver(new PDO($dsn, $user, $password));
