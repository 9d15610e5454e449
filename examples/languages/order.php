<?php
// order.php DSN USER PASSWORD NUMBER: a purchase and its job, in one transaction.

// page: begin
function order(PDO $db, int $number): int {
    $is_postgres = $db->getAttribute(PDO::ATTR_DRIVER_NAME) === 'pgsql';
    $job = ['mail', 'confirm', json_encode(['purchase' => $number])];
    $db->beginTransaction();
    $db->exec("INSERT INTO purchase VALUES ($number)");
    $enqueue = $db->prepare($is_postgres
        ? 'SELECT leasehold_enqueue(?, ?, ?)'
        : 'INSERT INTO leasehold_job (queue, kind, payload) VALUES (?, ?, ?)');
    $enqueue->execute($job);
    $id = $is_postgres ? $enqueue->fetchColumn() : $db->lastInsertId();
    $db->commit();
    return $id;
}
// page: end

[, $dsn, $user, $password, $number] = $argv;
echo order(new PDO($dsn, $user, $password), $number), "\n";
